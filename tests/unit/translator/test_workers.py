"""Translations shared out among processes: the same as in one, where they are worth their start."""

from __future__ import annotations

import multiprocessing

import pytest
import torch

from dragoman import bundle as bundles
from dragoman.data.workers import WorkerLost
from dragoman.decoding.beam import BeamSettings
from dragoman.decoding.greedy import GreedySettings
from dragoman.devices import Memory
from dragoman.errors import DataError, ModelError, SettingError
from dragoman.translator import (
    Batching,
    Blocklist,
    LanguageModel,
    Loading,
    Request,
    Translator,
    shared,
    workers,
)
from dragoman.translator.workers import Share

WINDOW = 80


@pytest.fixture(scope="module")
def loading(tiny, tmp_path_factory):
    """How a translator is loaded that reads few texts ahead."""
    place = tmp_path_factory.mktemp("models") / "one"
    bundles.save(tiny.bundle("transformer", target_language="fr"), place)
    return Loading((str(place),), batching=Batching(window=WINDOW))


@pytest.fixture(scope="module")
def translator(loading):
    return loading.translator()


@pytest.fixture
def seen(monkeypatch, translator):
    """The numbers of processes and of texts in each share; nothing is done with them."""
    calls = []

    def here(work, items, *, workers):
        assert isinstance(work, Share)
        calls.append((workers, [len(each) for each in items]))
        yield from ()

    monkeypatch.setattr(workers, "in_order", here)
    monkeypatch.setattr(workers, "_WORTH", 70 * 80 * translator.weights)
    return calls


def test_several_processes_give_what_one_gives_in_the_same_order(tiny, loading, translator):
    texts = [*tiny.sentences, "", "1984 pie " * 150, "nobody saw it .\u2028?"]
    prefixes = ["the" if n % 7 == 0 else "" for n in range(len(texts))]
    search, request = BeamSettings(beam=2, nbest=2), Request(input_guard=Blocklist(["mat"]))
    found = list(shared(translator, loading, texts, settings=search, prefixes=prefixes, request=request, threads=2))
    expected = translator.translate(texts, decoding=search, prefixes=prefixes, request=request)
    assert [(t.source, t.text, t.notes) for t in found] == [(t.source, t.text, t.notes) for t in expected]
    assert [t.score for t in found] == pytest.approx([t.score for t in expected], abs=1e-4)
    assert {note for t in found for note in t.notes} >= {"split", "blocked_input"}
    with pytest.raises(SettingError, match="this model does not know 'tlh'"):  # in a process, as in this one
        list(shared(translator, loading, texts, settings=search, request=Request(target_language="tlh"), threads=2))
    assert not multiprocessing.active_children()


@pytest.mark.parametrize(
    "case",
    [
        ((WINDOW, 2, GreedySettings()), [(2, [40, 40])]),
        ((WINDOW * 3, 3, GreedySettings()), [(3, [32] * 7 + [16])]),
        ((WINDOW - 1, 2, GreedySettings()), []),  # all are read, and they are little work
        ((WINDOW, 1, GreedySettings()), []),
        ((70, 2, BeamSettings(beam=80)), [(2, [35, 35])]),
        ((50, 2, BeamSettings(beam=80)), []),  # a process would have too few to sort by length
        ((0, 2, GreedySettings()), []),
    ],
)
def test_when_processes_are_worth_it(loading, translator, seen, case):
    (texts, threads, search), expected = case
    found = list(shared(translator, loading, ["cat"] * texts, settings=search, threads=threads))
    assert seen == expected
    assert len(found) == (0 if expected else texts)


def test_a_window_of_one_text_is_answered_at_once(tiny, loading, seen):
    at_once = tiny.translator("transformer", batching=Batching(window=1))

    def texts():
        yield "the cat"
        raise AssertionError("the first has not been answered")

    assert next(shared(at_once, loading, texts(), settings=GreedySettings(), threads=2)).source == "the cat"
    assert not seen


def test_models_that_do_not_fit_into_memory_are_not_loaded_again(loading, translator, seen, monkeypatch):
    texts = ["cat"] * WINDOW
    monkeypatch.setattr(workers, "memory", lambda: Memory(total=1 << 40, available=3_500_000_000))
    list(shared(translator, loading, texts, settings=GreedySettings(), threads=8))
    assert [number for number, _ in seen] == [3]
    monkeypatch.setattr(workers, "memory", lambda: Memory(total=1 << 40, available=1_000_000_000))
    assert len(list(shared(translator, loading, texts, settings=GreedySettings(), threads=8))) == WINDOW
    assert len(seen) == 1


def test_a_prefix_is_missing_where_it_is_missing(loading, translator):
    lines = shared(translator, loading, ["cat"] * 9, settings=GreedySettings(), prefixes=["the"] * 8, threads=2)
    with pytest.raises(DataError, match="there is no prefix number 9"):
        list(lines)


def test_a_lost_process_is_told_with_what_to_do(loading, translator, monkeypatch):
    def lost(*_, **__):
        raise WorkerLost
        yield

    monkeypatch.setattr(workers, "in_order", lost)
    with pytest.raises(ModelError, match=r"threads: .* ended without an answer.*--threads 1"):
        list(shared(translator, loading, ["cat"] * WINDOW, settings=GreedySettings(), threads=2))


def test_all_weights_count(tiny):
    one, lm = tiny.bundle("transformer"), tiny.bundle("transformer_lm")
    numbers = [sum(p.numel() for p in each.model.parameters()) for each in (one, lm)]
    cpu = torch.device("cpu")
    assert Translator(one, one, device=cpu, language_model=LanguageModel(lm)).weights == 2 * numbers[0] + numbers[1]
