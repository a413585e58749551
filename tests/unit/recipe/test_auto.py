"""Recipes from data: each rule on corpora made for it, and the parts that are held out."""

from __future__ import annotations

import dataclasses
import gzip
import random

import pytest
import torch

from dragoman.data import phrasebook
from dragoman.data.corpus import DataSettings, Features, Mono, Pair, TextFiles, Tsv, build
from dragoman.data.fingerprints import folded
from dragoman.data.stats import Sentences, measure
from dragoman.errors import DataError, SettingError
from dragoman.models.build import build as build_model
from dragoman.models.presets import base, big, small, tiny
from dragoman.models.recurrent_lm import RecurrentLMSettings
from dragoman.models.rnn import RecurrentSettings
from dragoman.models.transformer import TransformerSettings
from dragoman.models.transformer_lm import TransformerLMSettings
from dragoman.recipe import auto
from dragoman.recipe.auto import Machine, automatic, choose
from dragoman.recipe.cutting import Cutting, SideCutting, cutting_of
from dragoman.recipe.held_out import hold_out
from dragoman.recipe.schema import Recipe
from dragoman.recipe.toml import settings_to_toml
from dragoman.settings import decode, parse_toml
from dragoman.text.build import train_tokenizers
from dragoman.text.characters import CharacterSettings
from dragoman.text.subword import BpeSettings
from dragoman.text.symbols import SymbolSettings
from dragoman.training.optimizer import AdamW, Muon
from dragoman.training.schedule import InverseSquareRoot, Linear

GIB = 1 << 30
CPU, GPU = Machine("cpu", 2, 8 * GIB), Machine("cuda", 8, 40 * GIB)
DATA = DataSettings(train=(TextFiles(source="a", target="b"),), valid=TextFiles(source="c", target="d"))


def stats(pairs):
    return measure([Pair(s, t, "f", i) for i, (s, t) in enumerate(pairs)], Sentences("train"))


def chosen(pairs, *, valid=1_000, machine=CPU):
    return choose(DATA, stats(pairs), valid_pairs=valid, machine=machine)


def sentences(count=300, *, seed=1, letters="abcdefghijklmnopqrstuvwxyz"):
    """Sentences of words that hardly recur."""
    draw = random.Random(seed)

    def word() -> str:
        return "".join(draw.choices(letters, k=draw.randint(2, 9)))

    return [" ".join(word() for _ in range(draw.randint(4, 12))) for _ in range(count)]


def spelled(count=400, *, seed=2):
    """Words and their sounds."""
    draw = random.Random(seed)
    words = {"".join(draw.choices("abdefgiklmnoprstu", k=draw.randint(3, 9))) for _ in range(count)}
    return [(word, " ".join(word.upper())) for word in sorted(words)]


def side(tokens, *, kind="subwords", script="Latin", spaced=True):
    return SideCutting(
        kind=kind,
        reason="",
        tokens=tokens,
        usual_longest=40,
        pieces=8_000,
        words=tokens,
        script=script,
        alphabet=80,
        spaced=spaced,
    )


def of_size(tokens, *, machine=CPU, monkeypatch, source=True):
    """What is chosen for sentences of so many target tokens."""
    monkeypatch.setattr(auto, "cutting_of", lambda _: Cutting(side(tokens) if source else None, side(tokens)))
    return choose(DATA, stats([("a", "b")]), valid_pairs=1_000, machine=machine).recipe


# ---- [text] --------------------------------------------------------------------------------------------------------


def test_sentences_are_cut_into_subwords_of_one_vocabulary():
    recipe = chosen(list(zip(sentences(seed=1), sentences(seed=2), strict=True))).recipe
    assert isinstance(recipe.text.source, BpeSettings)
    assert recipe.text.joint
    assert recipe.text.target is None
    assert 500 < recipe.text.vocabulary_size < 2_000


def test_other_scripts_get_vocabularies_of_their_own():
    greek = sentences(seed=2, letters="αβγδεζηθικλμνοπρστυφχψω")
    recipe = chosen(list(zip(sentences(seed=1), greek, strict=True))).recipe
    assert not recipe.text.joint
    assert isinstance(recipe.text.target, BpeSettings)
    assert recipe.text.target_vocabulary_size is not None


def test_spelling_to_sound_is_cut_into_characters_and_symbols():
    recipe = chosen(spelled()).recipe
    assert isinstance(recipe.text.source, CharacterSettings)
    assert isinstance(recipe.text.target, SymbolSettings)
    assert not recipe.text.joint


def test_inflection_is_cut_into_characters_of_one_vocabulary():
    recipe = chosen([(f"{word} PL", f"{word}s") for word, _ in spelled()]).recipe
    assert isinstance(recipe.text.source, CharacterSettings)
    assert recipe.text.joint


def test_a_language_of_few_words_is_cut_at_spaces():
    draw = random.Random(3)
    commands = [" ".join(draw.choices(["jump", "walk", "left", "right", "twice"], k=6)) for _ in range(200)]
    recipe = chosen([(c, c.upper()) for c in commands]).recipe
    assert isinstance(recipe.text.source, SymbolSettings)
    assert isinstance(recipe.text.target, SymbolSettings)


def test_labels_are_symbols():
    pairs = [(s, "good" if i % 2 else "bad") for i, s in enumerate(sentences())]
    recipe = chosen(pairs).recipe
    assert isinstance(recipe.text.source, BpeSettings)
    assert isinstance(recipe.text.target, SymbolSettings)
    assert recipe.evaluation.metric == "error_rate"


def test_writing_without_spaces_is_cut_into_subwords_and_judged_by_characters():
    draw = random.Random(4)
    han = [chr(code) for code in range(0x4E00, 0x4E00 + 2_000)]
    texts = ["".join(draw.choices(han, k=draw.randint(10, 30))) for _ in range(800)]
    recipe = chosen([(s, t) for s, t in zip(sentences(800), texts, strict=True)]).recipe
    assert recipe.text.target == BpeSettings(coverage=0.9995)
    assert recipe.evaluation.metric == "chrf"


def test_tokens_are_estimated_within_a_third_of_what_the_tokenizer_makes():
    """On sentences of a real grammar, for the number of updates rests on it."""
    parts = phrasebook.splits(train=3_000, dev=10, test=10)
    pairs = [(p.english, p.french) for p in parts.train]
    found = cutting_of(stats(pairs))
    recipe = chosen(pairs).recipe
    english, french = ([p[side] for p in pairs] for side in (0, 1))
    tokenizers = train_tokenizers(recipe.text, sources=english, targets=french)
    real = sum(len(ids) + 1 for ids in tokenizers.target.encode_all(french))
    assert 0.67 < found.target.tokens / real < 1.5


# ---- [model] -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "machine", "size"),
    [
        (250_000, CPU, tiny().size),
        (2_999_999, GPU, tiny().size),
        (3_000_000, CPU, small().size),
        (30_000_000, CPU, small().size),
        (30_000_000, GPU, base().size),
        (300_000_000, GPU, big().size),
        (300_000_000, Machine("cuda", 2, 6 * GIB), base().size),
    ],
)
def test_transformers_grow_with_the_data_as_far_as_the_machine_allows(tokens, machine, size, monkeypatch):
    model = of_size(tokens, machine=machine, monkeypatch=monkeypatch).model
    assert isinstance(model, TransformerSettings)
    assert model.size == size


@pytest.mark.parametrize("model", [tiny(), base(), big()])
def test_the_memory_of_a_model_is_estimated_from_its_weights(model):
    cutting = Cutting(side(1_000_000), side(1_000_000))
    with torch.device("meta"):
        weights = sum(p.numel() for p in build_model(model, target_vocabulary=cutting.pieces).parameters())
    assert auto._bytes(model, cutting) == pytest.approx(4 * 9 * weights, rel=0.02)


def test_little_data_and_short_strings_get_a_recurrent_model():
    for pairs in (list(zip(sentences(), sentences(seed=5), strict=True)), spelled()):
        model = chosen(pairs).recipe.model
        assert isinstance(model, RecurrentSettings)
        assert model.attention is not None


def test_dropout_falls_as_the_data_grows(monkeypatch):
    rates = [
        of_size(tokens, machine=GPU, monkeypatch=monkeypatch).model.dropout.hidden
        for tokens in (10_000, 1_000_000, 10_000_000, 100_000_000)
    ]
    assert rates == [0.3, 0.3, 0.2, 0.1]


def test_separate_vocabularies_share_no_table(monkeypatch):
    monkeypatch.setattr(auto, "cutting_of", lambda _: Cutting(side(500_000), side(500_000, script="Greek")))
    model = choose(DATA, stats([("a", "b")]), valid_pairs=9, machine=CPU).recipe.model
    assert not model.embedding.shared


@pytest.mark.parametrize(("tokens", "kind"), [(10_000, RecurrentLMSettings), (5_000_000, TransformerLMSettings)])
def test_texts_alone_get_a_language_model_judged_by_its_loss(tokens, kind, monkeypatch):
    recipe = of_size(tokens, monkeypatch=monkeypatch, source=False)
    assert isinstance(recipe.model, kind)
    assert recipe.evaluation.metric == "loss"
    assert recipe.training.objective.smoothing == 0


# ---- [training], [store] and [evaluation] --------------------------------------------------------------------------


def test_updates_see_a_small_corpus_more_often(monkeypatch):
    def passes(tokens):
        training = of_size(tokens, monkeypatch=monkeypatch).training
        return training.steps * training.batch_tokens * 0.8 / tokens

    seen = [passes(t) for t in (50_000, 300_000, 3_000_000, 30_000_000, 300_000_000)]
    assert seen == sorted(seen, reverse=True)
    assert seen[1] == pytest.approx(66.7, rel=0.02)
    assert seen[-1] == pytest.approx(3, rel=0.02)


def test_the_rate_and_its_schedule_suit_the_model(monkeypatch):
    transformer = of_size(10_000_000, monkeypatch=monkeypatch)
    assert isinstance(transformer.training.schedule, InverseSquareRoot)
    warmup, size = transformer.training.schedule.warmup, transformer.model.size
    assert transformer.training.optimizer.rate == pytest.approx((warmup * size) ** -0.5, rel=0.05)
    recurrent = of_size(20_000, monkeypatch=monkeypatch)
    assert isinstance(recurrent.training.schedule, Linear)
    assert recurrent.training.optimizer.rate == 2e-3


def test_a_tiny_transformer_gets_muon_where_torch_has_it(monkeypatch):
    training = of_size(1_000_000, monkeypatch=monkeypatch).training
    assert isinstance(training.optimizer, Muon)
    assert isinstance(training.schedule, Linear)
    monkeypatch.delattr(torch.optim, "Muon")
    assert isinstance(of_size(1_000_000, monkeypatch=monkeypatch).training.optimizer, AdamW)


def test_a_transformer_is_trained_in_bfloat16_where_the_processor_has_it(monkeypatch):
    quick = dataclasses.replace(CPU, bfloat16=True)
    found = [
        of_size(tokens, machine=each, monkeypatch=monkeypatch).training.precision
        for tokens, each in ((1_000_000, quick), (1_000_000, CPU), (20_000, quick))
    ]
    assert found == ["bfloat16", "float32", "float32"]


def test_every_allowed_example_fits_into_a_batch():
    long = [(" ".join(s for s in sentences(60)), "short one") for _ in range(3)]
    recipe = chosen([*zip(sentences(), sentences(seed=7), strict=True), *long * 3]).recipe
    assert recipe.store.longest_source < recipe.training.batch_tokens
    assert 64 <= recipe.store.longest_target <= recipe.store.longest_source == 512


@pytest.mark.parametrize(("valid", "metric"), [(499, "chrf"), (500, "bleu")])
def test_few_validation_sentences_are_judged_by_characters(valid, metric):
    pairs = list(zip(sentences(), sentences(seed=5), strict=True))
    assert chosen(pairs, valid=valid).recipe.evaluation.metric == metric


def test_no_more_than_a_thousand_validation_pairs_are_translated():
    assert chosen(spelled(), valid=1_000).recipe.evaluation.sentences is None
    assert chosen(spelled(), valid=9_000).recipe.evaluation.sentences == 1_000


def test_every_choice_that_differs_from_a_default_has_a_reason_and_a_place():
    for pairs in (list(zip(sentences(), sentences(seed=5), strict=True)), spelled()):
        found = chosen(pairs)
        written = settings_to_toml(found.recipe, found.reasons)
        assert decode(parse_toml(written, place=""), Recipe) == found.recipe
        lines = written.splitlines()
        for reason in found.reasons.values():
            assert f"# {reason[:60]}" in written
        own = [
            i
            for i, line in enumerate(lines)
            if line.startswith(("steps", "batch_tokens", "patience", "rate", "metric"))
        ]
        assert len(own) == 5
        assert all(lines[i - 1].startswith("# ") for i in own)


def test_this_machine_is_known():
    found = auto.machine()
    assert found.cores >= 1
    assert found.memory > 1 << 28


# ---- held out ------------------------------------------------------------------------------------------------------


def text_files(folder, pairs, *, name="all"):
    for number, end in enumerate(("en", "fr")):
        (folder / f"{name}.{end}").write_text("".join(f"{pair[number]}\n" for pair in pairs), encoding="utf-8")
    return TextFiles(source=str(folder / f"{name}.en"), target=str(folder / f"{name}.fr"), target_language="fr")


def texts(settings):
    return {folded(text) for pair in build(settings) for text in (pair.source, pair.target) if text}


def test_no_sentence_of_the_validation_pairs_is_trained_on(tmp_path):
    pairs = list(zip(sentences(), sentences(seed=5), strict=True))
    pairs += [(pairs[i][0], f"again {i}") for i in range(0, 300, 7)]  # sources that come twice
    held_out = hold_out(DataSettings(train=(text_files(tmp_path, pairs),)), tmp_path / "corpus")
    train, valid = held_out.data.train[0], held_out.data.valid
    assert not texts(train) & texts(valid)
    assert texts(train) | texts(valid) == {folded(t) for pair in pairs for t in pair}
    assert len(list(build(valid))) == held_out.origin.valid == round(0.05 * len(pairs))
    assert train.target_language == valid.target_language == "fr"
    assert str(tmp_path / "all.en") in held_out.reason


def test_labels_are_held_out_by_their_sources(tmp_path):
    pairs = [(s, "good" if i % 2 else "bad") for i, s in enumerate(sentences())]
    held_out = hold_out(DataSettings(train=(text_files(tmp_path, pairs),)), tmp_path / "corpus")
    assert held_out.origin.sides == "source"
    assert "sources" in held_out.reason
    train, valid = ({p.source for p in build(s)} for s in (held_out.data.train[0], held_out.data.valid))
    assert not train & valid


def test_parts_are_kept_as_long_as_the_corpus_stays_the_same(tmp_path):
    pairs = list(zip(sentences(), sentences(seed=5), strict=True))
    data = DataSettings(train=(text_files(tmp_path, pairs),))
    first = hold_out(data, tmp_path / "corpus")
    made = (tmp_path / "corpus" / "train.source").stat().st_ino
    assert hold_out(data, tmp_path / "corpus") == first
    assert (tmp_path / "corpus" / "train.source").stat().st_ino == made
    text_files(tmp_path, pairs[:100])
    again = hold_out(data, tmp_path / "corpus")
    assert again.origin.valid == 5
    (tmp_path / "corpus" / "train.source").write_text("damaged\n")
    assert hold_out(data, tmp_path / "corpus") == again
    assert "damaged" not in (tmp_path / "corpus" / "train.source").read_text()


def test_one_packed_file_of_pairs_and_texts_alone_are_divided_too(tmp_path):
    with gzip.open(tmp_path / "all.tsv.gz", "wt") as stream:
        stream.writelines(f"{s}\t{t}\n" for s, t in spelled())
    held_out = hold_out(DataSettings(train=(Tsv(file=str(tmp_path / "all.tsv.gz")),)), tmp_path / "pairs")
    assert held_out.origin.valid == 20
    (tmp_path / "all.txt").write_text("\n".join(sentences()))
    held_out = hold_out(DataSettings(train=(Mono(file=str(tmp_path / "all.txt")),)), tmp_path / "texts")
    assert isinstance(held_out.data.valid, Mono)
    assert len(list(build(held_out.data.valid))) == 15


def test_what_cannot_be_divided_is_refused(tmp_path):
    two = (Mono(file="a"), Mono(file="b"))
    for train in (two, (Features(source="a", target="b"),)):
        with pytest.raises(SettingError, match="one corpus of texts"):
            hold_out(DataSettings(train=train), tmp_path / "corpus")
    with pytest.raises(SettingError, match="standard input"):
        hold_out(DataSettings(train=(Mono(file="-"),)), tmp_path / "corpus")
    (tmp_path / "one").write_text("alone\n")
    with pytest.raises(DataError, match="single"):
        hold_out(DataSettings(train=(Mono(file=str(tmp_path / "one")),)), tmp_path / "corpus")


def test_automatic_reads_the_corpora_and_says_what_it_held_out(tmp_path):
    pairs = list(zip(sentences(), sentences(seed=5), strict=True))
    data = DataSettings(train=(text_files(tmp_path, pairs),))
    found = automatic(data, tmp_path / "corpus", machine=CPU)
    assert "held out" in found.reasons["data.valid"]
    valid = text_files(tmp_path, pairs[:3], name="valid")
    found = automatic(DataSettings(train=data.train, valid=valid), tmp_path / "other", machine=CPU)
    assert found.recipe.data.valid == valid
    assert "data.valid" not in found.reasons
    assert not (tmp_path / "other").exists()
