"""Parts without leaks, and a test part that asks for new combinations of known words."""

from __future__ import annotations

import pytest

from dragoman.data.phrasebook import splits
from dragoman.data.phrasebook.sampling import stream
from dragoman.data.phrasebook.splits import held_out

SIZES = {"train": 8_000, "dev": 300, "test": 300}


@pytest.fixture(scope="module")
def parts():
    return splits(seed=3, **SIZES)


@pytest.fixture(scope="module")
def combinations():
    """What was combined in each English sentence of the stream."""
    return {derived.phrase.english: derived.combinations for _, derived in zip(range(12_000), stream(3), strict=False)}


def test_sizes(parts):
    assert (len(parts.train), len(parts.dev), len(parts.test)) == tuple(SIZES.values())


@pytest.mark.parametrize("side", ["english", "french"])
def test_no_sentence_is_shared(parts, side):
    sides = [{getattr(phrase, side) for phrase in part} for part in (parts.train, parts.dev, parts.test)]
    assert sum(len(sentences) for sentences in sides) == len(set.union(*sides)) == sum(SIZES.values())


def test_train_and_dev_show_no_held_out_combination(parts, combinations):
    for phrase in (*parts.train, *parts.dev):
        assert not [pair for pair in combinations[phrase.english] if held_out(pair, 3)]
        assert not parts.held_out.intersection(combinations[phrase.english])


def test_every_test_phrase_combines_known_words_anew(parts, combinations):
    shown = [pair for phrase in parts.train for pair in combinations[phrase.english]]
    firsts, seconds = {first for first, _ in shown}, {second for _, second in shown}
    for phrase in parts.test:
        new = [pair for pair in combinations[phrase.english] if pair in parts.held_out]
        assert new, phrase
        assert not set(new) & set(shown)
        assert all(first in firsts and second in seconds for first, second in new)


def test_the_same_seed_gives_the_same_parts(parts):
    assert splits(seed=3, **SIZES) == parts


def test_another_seed_holds_out_other_combinations():
    pairs = [(f"verb{i}", f"noun{i}") for i in range(1_000)]
    first, second = ({pair for pair in pairs if held_out(pair, seed)} for seed in (1, 2))
    assert first != second
    assert 40 < len(first) < 140
