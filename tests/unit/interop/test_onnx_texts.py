"""The decoder beside the graphs tidies, cuts and joins texts as the tokenizer whose JSON it reads."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.errors import ModelError, TextError
from dragoman.interop.onnx.texts import cuts, write_cuts
from dragoman.text.bytepairs import BytePairs, BytePairSettings
from dragoman.text.characters import CharacterSettings
from dragoman.text.normalize import Normalization, Normalizer
from dragoman.text.sentencepieces import SentencePieces, SentencePieceSettings
from dragoman.text.subword import BpeSettings, UnigramSettings
from dragoman.text.symbols import SymbolSettings
from dragoman.text.vocabulary import SPECIAL, Vocabulary
from dragoman.text.words import WordSettings
from reference.bundles import TextSettings, phrases, tokenizers
from reference.huggingface import english, pieces_of, trained

decoder = pytest.importorskip("dragoman.interop.onnx.decoder", reason="needs onnxruntime")

SYMBOLS = ("<2fr>", "⟦1⟧", "⟦1")
KEPT = Normalization(spaces="keep", unicode="none", control="keep", zero_width="keep", bidi="keep")
FOLDED = Normalization(unicode="NFKC", bidi="keep")
EDGES = (
    "",
    " ",
    "  two  spaces ",
    "a </s> <unk> <s> <pad>",
    " <2fr> the⟦1⟧⟦1 <2fr>x",
    "▁ a▁b \U0010fffd \U0010fffd0",
    "e\u0301 \u0301x क्षि a\u200db",
    "one\ttwo\u3000three\x0bfour",
    "\ufb01 \uff21 \u00ad\u202e\x00.",
)
TEXTS = (
    st.text(max_size=12)
    | st.lists(
        st.sampled_from([*"ab éß_7.!? \t▁\u0301\u200d\u200b\u202e\u3000ﬁ\x00\U0010fffd01", "the", "<unk>", *SYMBOLS]),
        max_size=14,
    ).map("".join)
    | st.sampled_from([phrase.english for phrase in phrases()])
)


def made(kind, normalization=None):
    size = 420 if isinstance(kind, BpeSettings | UnigramSettings) else None
    plain = TextSettings(source=kind, vocabulary_size=size, symbols=SYMBOLS)
    text = plain if normalization is None else TextSettings(**{**_fields(plain), "normalization": normalization})
    return tokenizers(text).source


def _fields(struct):
    return {name: getattr(struct, name) for name in struct.__struct_fields__}


def brought():
    """A sentencepiece model that was made elsewhere, with numbers of its own."""
    model = trained(english())
    pieces = [piece for piece in pieces_of(model) if piece not in SPECIAL]
    return SentencePieces(
        model,
        settings=SentencePieceSettings(silent=("<2fr>",)),
        vocabulary=Vocabulary([*SPECIAL, *reversed(pieces), *SYMBOLS], SYMBOLS),
        normalizer=Normalizer(KEPT),
    )


KINDS = {
    "words": lambda: made(WordSettings()),
    "words with spaces": lambda: made(WordSettings(), KEPT),
    "characters": lambda: made(CharacterSettings()),
    "characters with spaces": lambda: made(CharacterSettings(), KEPT),
    "symbols": lambda: made(SymbolSettings()),
    "merged": lambda: made(BpeSettings()),
    "folded": lambda: made(UnigramSettings(), FOLDED),
    "brought": brought,
}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_ids_and_texts_are_ours(kind, tmp_path, data):
    ours = KINDS[kind]()
    if not (tmp_path / "source.json").exists():
        write_cuts(ours, tmp_path, side="source")
    theirs = decoder.Side(tmp_path, "source")
    text = data.draw(TEXTS)
    assert theirs.ids(text) == ours.encode(text)
    ids = data.draw(st.lists(st.integers(0, len(ours.vocabulary) - 1), max_size=12))
    assert theirs.text(ids) == ours.decode(ids)


@pytest.mark.parametrize("kind", KINDS)
def test_the_edges_are_ours(kind, tmp_path):
    ours = KINDS[kind]()
    write_cuts(ours, tmp_path, side="target")
    theirs = decoder.Side(tmp_path, "target")
    assert [theirs.ids(text) for text in EDGES] == [ours.encode(text) for text in EDGES]


@pytest.mark.parametrize(
    "normalization", [Normalization(), KEPT, FOLDED, Normalization(control="refuse", spaces="keep")]
)
def test_every_character_is_tidied_as_ours(normalization):
    ours, theirs = Normalizer(normalization), decoder.Tidying(_fields(normalization))
    for code in [*range(0x3100), *range(0xD7F0, 0xE010), *range(0xF900, 0x10050), 0x10FFFD]:
        text = f"a {chr(code)}b"
        try:
            expected = ours(text)
        except TextError:
            with pytest.raises(ValueError, match="is refused"):
                theirs(text)
        else:
            assert theirs(text) == expected


def test_every_character_is_in_words_where_it_is_in_ours():
    cutting = tokenizers(TextSettings(source=WordSettings())).source.cutting
    for code in range(0x20, 0x110000):
        if unicodedata.category(chr(code)) not in ("Cn", "Co", "Cs"):
            assert (len(cutting.cut(f"a{chr(code)}")) == 1) == decoder.in_word(chr(code)), hex(code)


def test_pairs_of_bytes_are_refused():
    ours = BytePairs(
        [], settings=BytePairSettings(), vocabulary=Vocabulary(SPECIAL), normalizer=Normalizer(Normalization())
    )
    with pytest.raises(ModelError, match=r"pairs of bytes.*--to huggingface"):
        cuts(ours)
