"""Noise: what each kind leaves of a text, checked by putting it together again, and its shares over many texts."""

from __future__ import annotations

import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.noise import BartNoise, PrefixNoise, SpanNoise, build_noise, symbols_of
from dragoman.errors import TextError
from dragoman.text.vocabulary import SPECIAL, Vocabulary

MARKS = 6
SYMBOLS = (*symbols_of(BartNoise()), *symbols_of(SpanNoise(marks=MARKS)))
WORDS = tuple(f"w{i}" for i in range(40))
VOCABULARY = Vocabulary([*SPECIAL, *SYMBOLS, ".", *WORDS], SYMBOLS)
MASK, DOT = VOCABULARY["<mask>"], VOCABULARY["."]
FIRST = VOCABULARY["w0"]
TEXTS = st.lists(st.integers(DOT, FIRST + 39), min_size=1, max_size=40)
SEEDS = st.integers(0, 2**64 - 1)
QUIET = {"mask": 0.0, "permute": False}


def made(settings, ids, seed=1):
    return build_noise(settings, VOCABULARY)(ids, random.Random(seed))


def is_subsequence(part, whole):
    rest = iter(whole)
    return all(item in rest for item in part)


# ---- BART ----------------------------------------------------------------------------------------------------------


@given(TEXTS, SEEDS)
def test_the_target_is_the_text_and_the_same_seed_draws_the_same(ids, seed):
    settings = BartNoise(mask_tokens=0.1, delete=0.1, rotate=0.5)
    noised = made(settings, ids, seed)
    assert noised.target == ids
    assert noised == made(settings, ids, seed)
    assert noised.source


@given(TEXTS, SEEDS, st.floats(0, 1), st.floats(0, 6))
def test_infilling_leaves_the_other_tokens_in_their_order(ids, seed, mask, span):
    source = made(BartNoise(mask=mask, span=span, permute=False), ids, seed).source
    kept = [i for i in source if i != MASK]
    assert is_subsequence(kept, ids)
    assert len(ids) - len(kept) <= round(mask * len(ids) + 1)


def test_infilling_takes_its_share_in_spans_of_its_mean():
    ids = list(range(FIRST, FIRST + 40))
    settings = BartNoise(mask=0.3, span=3.0, permute=False)
    found = [made(settings, ids, seed).source for seed in range(500)]
    taken = [40 - sum(i != MASK for i in source) for source in found]
    masks = [source.count(MASK) for source in found]
    assert statistics.mean(taken) == pytest.approx(12, abs=0.1)
    assert 2.4 < statistics.mean(taken) / statistics.mean(masks) < 3  # the last span is cut to fit
    assert made(BartNoise(mask=0.3, span=0.0, permute=False), ids).source.count(MASK) == 24  # put in, nothing taken


def test_every_place_is_masked_and_both_ends_alike():
    ids = list(range(FIRST, FIRST + 10))
    counts = [0] * 10
    for seed in range(3000):
        kept = set(made(BartNoise(mask=0.3, span=2.0, permute=False), ids, seed).source)
        for place, i in enumerate(ids):
            counts[place] += i not in kept
    shares = [count / 3000 for count in counts]
    assert sum(shares) / 10 == pytest.approx(0.3, abs=0.01)
    assert shares == pytest.approx(shares[::-1], abs=0.05)
    assert min(shares) > 0.15


def test_single_tokens_are_masked_or_deleted():
    ids = list(range(FIRST, FIRST + 40))
    masked = [made(BartNoise(**QUIET, mask_tokens=0.25), ids, seed).source for seed in range(200)]
    assert all(len(source) == 40 for source in masked)
    assert all(i in (MASK, j) for source in masked for i, j in zip(source, ids, strict=True))
    assert statistics.mean(source.count(MASK) for source in masked) == pytest.approx(10, abs=1)
    deleted = [made(BartNoise(**QUIET, delete=0.25), ids, seed).source for seed in range(200)]
    assert all(MASK not in source and is_subsequence(source, ids) for source in deleted)
    assert statistics.mean(map(len, deleted)) == pytest.approx(30, abs=1)


def test_nothing_that_is_left_is_a_mask():
    assert made(BartNoise(**QUIET, delete=1.0), [FIRST, FIRST + 1]).source == [MASK]


def test_sentences_change_places_and_stay_whole():
    a, b, c = [FIRST, FIRST + 1, DOT], [FIRST + 2, DOT, DOT, DOT], [FIRST + 3]
    found = {tuple(made(BartNoise(mask=0.0), a + b + c, seed).source) for seed in range(100)}
    orders = [(a, b, c), (a, c, b), (b, a, c), (b, c, a), (c, a, b), (c, b, a)]
    assert found == {tuple(i for part in order for i in part) for order in orders}


def test_rotation_begins_anywhere():
    ids = [FIRST, FIRST + 1, FIRST + 2]
    found = {tuple(made(BartNoise(**QUIET, rotate=1.0), ids, seed).source) for seed in range(50)}
    assert found == {(*ids[n:], *ids[:n]) for n in range(3)}
    settings, ids = BartNoise(**QUIET, rotate=0.3), list(range(FIRST, FIRST + 40))
    stays = sum(made(settings, ids, seed).source[0] == FIRST for seed in range(500))
    assert stays / 500 == pytest.approx(0.7 + 0.3 / 40, abs=0.06)


# ---- T5 ------------------------------------------------------------------------------------------------------------


def put_together(noised):
    """The text that source and target tell together, as a reader of both would find it."""
    marks = [VOCABULARY.symbol(name) for name in symbols_of(SpanNoise(marks=MARKS))]
    hidden, mark = {}, None
    for i in noised.target:
        if i in marks:
            mark = i
            hidden[mark] = []
        else:
            hidden[mark].append(i)
    assert list(hidden) == marks[: len(hidden)]
    assert hidden[mark] == []  # the last mark ends it
    return [j for i in noised.source for j in (hidden[i] if i in marks else [i])], hidden


@given(TEXTS, SEEDS, st.floats(0.05, 0.95), st.floats(1, 6))
def test_source_and_target_tell_the_text_together(ids, seed, density, span):
    noised = made(SpanNoise(density=density, span=span, marks=MARKS), ids, seed)
    text, hidden = put_together(noised)
    assert text == ids
    assert all(hidden[mark] for mark in list(hidden)[:-1])
    assert len(noised.source) + len(noised.target) == len(ids) + 2 * (len(hidden) - 1) + 1


def test_spans_have_their_density_and_length():
    ids = list(range(FIRST, FIRST + 40))
    found = [put_together(made(SpanNoise(density=0.3, span=3.0, marks=MARKS), ids, seed))[1] for seed in range(300)]
    assert {sum(map(len, hidden.values())) for hidden in found} == {12}
    assert {len(hidden) - 1 for hidden in found} == {4}
    lengths = {len(span) for hidden in found for span in list(hidden.values())[:-1]}
    assert lengths == set(range(1, 10))  # 12 in four parts


def test_no_more_spans_than_marks():
    _, hidden = put_together(made(SpanNoise(density=0.5, span=1.0, marks=MARKS), list(range(FIRST, FIRST + 40))))
    assert len(hidden) == MARKS


def test_a_text_of_one_token_is_asked_for_whole():
    noised = made(SpanNoise(marks=MARKS), [FIRST])
    assert put_together(noised)[0] == [FIRST]


# ---- UniLM ---------------------------------------------------------------------------------------------------------


@given(TEXTS, SEEDS, st.floats(0, 0.49))
def test_a_prefix_and_its_rest_are_the_text(ids, seed, least):
    noised = made(PrefixNoise(least=least), ids, seed)
    if len(ids) == 1:
        assert noised.source == noised.target == ids
        return
    assert noised.source + noised.target == ids
    assert noised.source
    assert noised.target
    assert min(len(noised.source), len(noised.target)) >= min(least * len(ids), len(ids) // 2)


def test_all_places_are_cut():
    ids = list(range(FIRST, FIRST + 10))
    found = {len(made(PrefixNoise(least=0.2), ids, seed).source) for seed in range(200)}
    assert found == set(range(2, 9))


def test_a_vocabulary_without_the_marks_is_refused():
    with pytest.raises(TextError, match="'<mask>' is not a symbol"):
        build_noise(BartNoise(), Vocabulary([*SPECIAL, "a"]))
