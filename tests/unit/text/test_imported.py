"""Tokenizers that come from elsewhere: they keep the protocol that all of ours keep."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import TextError
from dragoman.text import build
from dragoman.text.bytepairs import BytePairs, BytePairSettings, _letters
from dragoman.text.normalize import Normalization, Normalizer
from dragoman.text.sentencepieces import SentencePieces, SentencePieceSettings
from dragoman.text.vocabulary import SPECIAL, UNK, Vocabulary
from reference.huggingface import english, pieces_of, trained

KEPT = Normalizer(Normalization(unicode="none", spaces="keep", control="keep", zero_width="keep", bidi="keep"))
MERGES = (("h", "e"), ("Ġ", "t"), ("Ġt", "he"), ("l", "l"), ("a", "a"))


def byte_pairs(*, leading_space=False, symbols=("<mask>",)):
    pieces = [*SPECIAL, *symbols, "<tag>", *_letters(), *(a + b for a, b in MERGES)]
    settings = BytePairSettings(leading_space=leading_space, silent=("<tag>",))
    return BytePairs(MERGES, settings=settings, vocabulary=Vocabulary(pieces, symbols), normalizer=KEPT)


def sentence_pieces():
    model = trained(english())
    pieces = [*SPECIAL, ">>fra<<", *(p for p in reversed(pieces_of(model)) if p not in SPECIAL)]
    vocabulary = Vocabulary(pieces, (">>fra<<",))
    return SentencePieces(model, settings=SentencePieceSettings(), vocabulary=vocabulary, normalizer=KEPT)


@pytest.fixture(params=["bytes", "spaced", "sentencepiece"])
def tokenizer(request):
    if request.param == "sentencepiece":
        return sentence_pieces()
    return byte_pairs(leading_space=request.param == "spaced")


TEXTS = ["the hello", "  two  spaces ", "naïve — 3½ 🙂", "", "</s> <unk>", "don't aaaa", "a<mask>b", ">>fra<< the"]


def test_it_is_saved_and_loaded(tokenizer, tmp_path):
    build.save(tokenizer, tmp_path)
    loaded = build.load(tmp_path)
    copied = pickle.loads(pickle.dumps(tokenizer))  # noqa: S301 - our own
    for each in (loaded, copied):
        assert each.encode_all(TEXTS) == tokenizer.encode_all(TEXTS)
        assert each.vocabulary.pieces == tokenizer.vocabulary.pieces
        assert each.settings == tokenizer.settings


@given(st.text(max_size=40))
def test_pieces_are_those_of_encode_and_lie_in_the_text(text):
    for tokenizer in (byte_pairs(), byte_pairs(leading_space=True), _SENTENCE_PIECES):
        pieces = tokenizer.pieces(text)
        assert [piece.id for piece in pieces] == tokenizer.encode(text)
        normal = tokenizer.normalizer(text)
        assert all(0 <= piece.start <= piece.end <= len(normal) for piece in pieces)
        assert [piece.start for piece in pieces] == sorted(piece.start for piece in pieces)


_SENTENCE_PIECES = sentence_pieces()


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40).filter(lambda text: "<" not in text))
def test_bytes_lose_nothing(text):
    assert byte_pairs().decode(byte_pairs().encode(text)) == text


def test_merges_go_by_rank():
    forms = [piece.form for piece in byte_pairs().pieces(" the hello aaaa")]
    assert forms == ["Ġthe", "Ġ", "he", "ll", "o", "Ġ", "aa", "aa"]
    assert byte_pairs(leading_space=True).encode("the") == byte_pairs().encode(" the")


def test_symbols_and_silent_pieces():
    both = byte_pairs()
    assert [piece.form for piece in both.pieces("a <mask> b")] == ["a", "<mask>", "Ġ", "b"]
    assert both.decode([*both.encode("he"), both.vocabulary["<tag>"], 3]) == "he"
    assert sentence_pieces().encode(">>fra<< the")[0] == 4


def test_spelled_out_special_pieces_stay_text(tokenizer):
    assert not set(range(len(SPECIAL))) - {UNK} & set(tokenizer.encode("</s> <s> <pad>"))


def test_places_are_those_of_the_text_and_not_of_its_tidied_form():
    pieces = sentence_pieces().pieces("the  ½cat")
    half = next(piece for piece in pieces if "2" in piece.form)
    assert (half.start, half.end) == (5, 6)


@pytest.mark.parametrize("kind", ["sentencepiece.model", "byte_merges.json", "vocabulary.json"])
def test_damage_is_found(tmp_path, kind):
    build.save(sentence_pieces() if "piece" in kind else byte_pairs(), tmp_path)
    (tmp_path / kind).write_bytes(b"\xff\x00[[1]]")
    with pytest.raises(TextError, match="damaged"):
        build.load(tmp_path)


def test_bytes_are_cut_as_the_original_library_cuts_them():
    tokenizers = pytest.importorskip("tokenizers", reason="needs tokenizers to compare with")
    learned = tokenizers.ByteLevelBPETokenizer()
    learned.train_from_iterator(english(), vocab_size=400, special_tokens=list(SPECIAL), show_progress=False)
    import json

    written = json.loads(learned._tokenizer.to_str())["model"]
    pieces = sorted(written["vocab"], key=written["vocab"].get)
    vocabulary = Vocabulary(pieces)
    ours = BytePairs(
        [tuple(pair) for pair in written["merges"]],
        settings=BytePairSettings(),
        vocabulary=vocabulary,
        normalizer=KEPT,
    )
    for text in [*english()[:40], "naïve — 3½ 🙂", "it's  WE'LL\n\tdon't x2y ١٢ ⅷ", "日本語の テキスト", " a  b   "]:
        assert ours.encode(text) == learned.encode(text).ids, text
