"""The lexicon against EM written with loops and dictionaries, and on a language made up for it."""

from __future__ import annotations

import math
import random
from collections import defaultdict

import pytest

from dragoman.errors import DataError
from dragoman.measures import lexicon as room
from dragoman.measures.alignment import Link
from dragoman.measures.lexicon import LexiconSettings, learn_lexicon


def by_loops(sources, targets, *, source_size, settings):
    """The same model, as the formulas have it; the source word None is nothing."""
    table = defaultdict(dict)
    pairs = [(s, t) for s, t in zip(sources, targets, strict=True) if s and t]
    for source, target in pairs:
        for s in [None, *source]:
            for t in target:
                table[s][t] = 1.0
    for _ in range(settings.iterations + 1):
        for row in table.values():
            total = sum(row.values())
            for t in row:
                row[t] /= total
        if _ == settings.iterations:
            return table
        counts = defaultdict(lambda: defaultdict(float))
        for source, target in pairs:
            for j, t in enumerate(target, start=1):
                near = [
                    math.exp(-settings.tension * abs(i / len(source) - j / len(target)))
                    for i in range(1, len(source) + 1)
                ]
                weights = [settings.nothing * table[None][t]]
                weights += [
                    (1 - settings.nothing) * w / sum(near) * table[s][t] for w, s in zip(near, source, strict=True)
                ]
                for s, weight in zip([None, *source], weights, strict=True):
                    counts[s][t] += weight / sum(weights)
        table = counts
    raise AssertionError


@pytest.mark.parametrize("tension", [0.0, 4.0])
@pytest.mark.parametrize(("cells", "kept"), [(1, 0), (1, 3), (1 << 20, 1 << 24)])
def test_probabilities_are_those_of_the_loops(tension, cells, kept, monkeypatch):
    monkeypatch.setattr(room, "_CELLS_AT_ONCE", cells)
    monkeypatch.setattr(room, "_CELLS_KEPT", kept)
    generator = random.Random(3)
    sources = [[generator.randrange(6) for _ in range(generator.randrange(5))] for _ in range(25)]
    targets = [[generator.randrange(7) for _ in range(generator.randrange(6))] for _ in range(25)]
    settings = LexiconSettings(iterations=4, tension=tension)
    found = learn_lexicon(sources, targets, source_size=9, settings=settings)
    expected = by_loops(sources, targets, source_size=9, settings=settings)
    for s in range(9):
        for t in range(8):
            assert found.probability(s, t) == pytest.approx(expected.get(s, {}).get(t, 0.0), abs=1e-12)
    for t in range(8):
        assert found.probability(found.source_size, t) == pytest.approx(expected[None].get(t, 0.0), abs=1e-12)


@pytest.fixture(scope="module")
def made_up():
    """Word w is translated as 100 + w, neighbours change places now and then, and 99 comes from nothing."""
    generator = random.Random(4)
    sources, targets, golds = [], [], []
    for _ in range(400):
        source = generator.sample(range(30), 6)
        order = list(range(6))
        if generator.random() < 0.5:
            at = generator.randrange(5)
            order[at], order[at + 1] = order[at + 1], order[at]
        sources.append(source)
        targets.append([*(100 + source[i] for i in order), 99])
        golds.append({Link(i, j) for j, i in enumerate(order)})
    return sources, targets, golds


def test_a_made_up_language_is_learned(made_up):
    sources, targets, golds = made_up
    found = learn_lexicon(sources, targets, source_size=30)
    assert all(found.best(w, count=1) == (100 + w,) for w in range(30))
    assert [found.align(s, t) for s, t in zip(sources, targets, strict=True)] == golds


def test_a_word_that_was_never_seen_has_no_translation(made_up):
    sources, targets, _ = made_up
    assert learn_lexicon(sources, targets, source_size=31).best(30, count=5) == ()


def test_nothing_to_align(made_up):
    sources, targets, _ = made_up
    found = learn_lexicon(sources[:9], targets[:9], source_size=30)
    assert found.align([], [100]) == found.align([1], []) == frozenset()
    with pytest.raises(DataError, match="no pair of sentences with words"):
        learn_lexicon([[], [1]], [[1], []], source_size=2)
