"""The order: every example as often as its weight says, batches within their budget, any position found again."""

from __future__ import annotations

import gzip
import itertools
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.data.corpus import Pair
from dragoman.data.encoding import Encoder, FeatureEncoder, TextEncoder
from dragoman.data.loader import Loader
from dragoman.data.order import FULL, Order, _mixed, cut, noise
from dragoman.data.preparation import Part, write
from dragoman.errors import DataError, SettingError
from dragoman.text.build import TextSettings, train_tokenizer
from dragoman.text.subword import BpeSettings


def order_of(sources, targets, *, corpora=None, weights=(1.0,), seed=1, batch_tokens=400):
    ends = np.cumsum(corpora or [len(targets)])
    lengths = (np.array(sources, np.int32), np.array(targets, np.int32))
    return Order(*lengths, corpus_ends=ends, weights=weights, seed=seed, batch_tokens=batch_tokens)


def sentences(count, seed=0):
    """Lengths with the mean, spread and correlation of those of Multi30k, English and German, and an end token."""
    generator = np.random.default_rng(seed)
    sources = np.clip(generator.lognormal(2.522, 0.296, count), 3, 45).round().astype(np.int32)
    targets = np.clip(sources * generator.normal(0.961, 0.166, count), 2, 50).round().astype(np.int32)
    sources, targets = sources + 1, targets + 1
    return sources, targets


def taken(order, begin, end):
    """The examples between two positions."""
    batches = itertools.takewhile(lambda b: b.position <= end, order.batches(begin))
    return Counter(itertools.chain.from_iterable(b.examples.tolist() for b in batches))


# ---- every example -----------------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=200), st.integers(30, 100), st.integers(), st.integers(0, 9))
def test_every_example_comes_exactly_once_an_epoch(lengths, budget, seed, epoch):
    order = order_of(lengths, lengths[::-1], seed=seed, batch_tokens=budget)
    assert taken(order, epoch * len(lengths), (epoch + 1) * len(lengths)) == Counter(range(len(lengths)))


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.integers(1, 40), st.floats(0, 3)), min_size=1, max_size=4),
    st.integers(1, 6),
    st.integers(0, 2**40),
)
def test_weights_set_how_often_each_example_comes(corpora, epochs, seed):
    sizes, weights = zip(*corpora, strict=True)
    if not any(weights):
        return
    lengths = np.ones(sum(sizes), np.int32)
    order = order_of(lengths, lengths, corpora=sizes, weights=weights, seed=seed)
    counts = taken(order, 0, epochs * order.examples)
    assert counts.total() == epochs * order.examples
    first = 0
    for size, weight in corpora:
        times = [counts[i] for i in range(first, first + size)]
        first += size
        assert max(times) - min(times) <= 1, "all examples of a corpus get their turn"
        assert abs(sum(times) - epochs * weight * size) <= epochs * (0.5 if weight * size > 0.5 else 1) + 1e-9
        if weight.is_integer():
            assert set(times) == {epochs * weight}


def test_shares_of_successive_epochs_complete_each_other():
    order = order_of([1] * 40, [1] * 40, weights=(0.25,))
    quarters = [set(taken(order, 10 * e, 10 * (e + 1))) for e in range(4)]
    assert set.union(*quarters) == set(range(40))


def test_no_weight_at_all_is_refused():
    with pytest.raises(SettingError, match="weight"):
        order_of([1], [1], weights=(0.0,))


# ---- positions ---------------------------------------------------------------------------------------------------


@settings(max_examples=10)
@given(st.integers(), st.lists(st.integers(0, 198), min_size=50, max_size=50, unique=True))
def test_fifty_kills_and_resumes_change_nothing(seed, kills):
    order = order_of(*sentences(300), corpora=[200, 100], weights=(1.0, 1.6), batch_tokens=100, seed=seed)
    whole = list(itertools.islice(order.batches(), 200))
    resumed, position = [], 0
    for kill in sorted([*kills, 199]):
        for batch in order.batches(position):
            resumed.append(batch)
            position = batch.position  # the checkpoint
            if len(resumed) == kill + 1:
                break
    for one, other in zip(whole, resumed, strict=True):
        assert (one.epoch, one.position) == (other.epoch, other.position)
        assert (one.examples == other.examples).all()
        assert (one.seeds == other.seeds).all()
    assert resumed[-1].epoch >= 2
    for epoch in range(resumed[-1].epoch):
        counts = Counter(i for b in resumed if b.epoch == epoch for i in b.examples.tolist())
        assert all(counts[i] == 1 for i in range(200))
        assert sorted(counts[i] for i in range(200, 300)) == [1] * 40 + [2] * 60


def test_positions_count_examples():
    order = order_of(*sentences(300), batch_tokens=100)
    position = 0
    for batch in itertools.islice(order.batches(), 200):
        position += len(batch.examples)
        assert batch.position == position
        assert batch.epoch == (position - 1) // 300


def test_a_position_inside_a_batch_is_an_error():
    order = order_of(*sentences(300), batch_tokens=100)
    first = next(order.batches())
    assert len(first.examples) > 1
    with pytest.raises(DataError, match="inside a batch"):
        next(order.batches(first.position - 1))


# ---- chance ------------------------------------------------------------------------------------------------------


def test_order_depends_on_seed_and_epoch_alone():
    order = order_of(*sentences(300))
    again = order_of(*sentences(300))
    assert (order.plan(3).slots == again.plan(3).slots).all()
    assert (order.plan(3).slots != order.plan(4).slots).any()
    assert (order.plan(3).slots != replace(order, seed=2).plan(3).slots).any()


def test_batches_are_composed_anew_in_each_epoch():
    order = order_of(*sentences(5_000), batch_tokens=1_000)
    together = [{frozenset(order.plan(e).batch(b).tolist()) for b in range(len(order.plan(e)))} for e in range(2)]
    assert not together[0] & together[1]


def test_examples_of_one_length_meet_others_in_each_epoch():
    order = order_of([5] * 2_000, [5] * 2_000, batch_tokens=50)
    pairs = []
    for epoch in range(2):
        plan = order.plan(epoch)
        batches = [sorted(plan.batch(b).tolist()) for b in range(len(plan))]
        pairs.append({pair for batch in batches for pair in itertools.combinations(batch, 2)})
    assert len(pairs[0] & pairs[1]) < 0.05 * len(pairs[0])


def test_batches_are_shuffled_anew_in_each_epoch():
    lengths = np.arange(70, 120)
    order = order_of(lengths, lengths, batch_tokens=125)
    assert len(order.plan(0)) == 50, "one for each example"
    first, second = (order.plan(epoch).slots.tolist() for epoch in range(2))
    assert sum(a != b for a, b in zip(first, second, strict=True)) > 40
    assert sum(a != b for a, b in zip(first, sorted(first), strict=True)) > 40


def test_every_draw_has_a_seed_of_its_own():
    order = order_of([1] * 30, [1] * 30, weights=(2.5,), batch_tokens=9)
    seeds = [s for b in itertools.takewhile(lambda b: b.epoch < 3, order.batches()) for s in b.seeds.tolist()]
    assert len(set(seeds)) == len(seeds) == 3 * 75


def test_a_small_weight_takes_one_example_at_least():
    assert order_of([1] * 10, [1] * 10, weights=(0.001,)).examples == 1
    assert order_of([1] * 10, [1] * 10, corpora=[5, 5], weights=(0.0, 1.0)).examples == 5


def test_noise_is_a_function_of_key_and_index():
    # Fixed for good: runs of older releases must resume.
    assert noise(np.arange(2), 1, 2).tolist() == [1144098325850660273, 15810120502376614252]
    assert noise(np.array([1]), 1, 2).tolist() == [15810120502376614252]
    assert _mixed(np.zeros(1, np.uint64)).tolist() == [0xE220A8397B1DCDAF]  # SplitMix64, seed 0, first number
    assert len(set(noise(np.arange(100_000), -5, 2).tolist())) == 100_000


def test_noise_is_spread_evenly():
    values = noise(np.arange(1 << 16), 3)
    for other in (noise(np.arange(1 << 16), 4), noise(np.arange(1 << 16) + 1, 3), values >> np.uint64(7)):
        ones = np.unpackbits((values ^ other).view(np.uint8)).mean()
        assert abs(ones - 0.5) < 0.04
    buckets = np.bincount((values >> np.uint64(58)).astype(int), minlength=64)
    assert ((buckets - 1024) ** 2 / 1024).sum() < 110  # chi-squared with 63 degrees of freedom


# ---- batches -----------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=1, max_size=150), st.integers(9, 300))
def test_cutting_equals_the_obvious_loop(lengths, budget):
    def longest(side, rows):
        return max(pair[side] for pair in rows)

    def fits(rows):
        return len(rows) * max(longest(0, rows), longest(1, rows)) <= budget

    def used(rows):
        return sum(map(sum, rows)) / (len(rows) * (longest(0, rows) + longest(1, rows)))

    starts = [0]
    while starts[-1] < len(lengths):
        rest = lengths[starts[-1] :]
        most = max(n for n in range(1, len(rest) + 1) if fits(rest[:n]))
        fewest = math.ceil(FULL * most)
        best = max(range(fewest, most + 1), key=lambda n: (used(rest[:n]), n)) if most < len(rest) else most
        starts.append(starts[-1] + best)
    sources, targets = (np.array(side, np.int32) for side in zip(*lengths, strict=True))
    assert cut(sources, targets, budget).tolist() == starts


def test_neither_padded_side_exceeds_the_budget():
    sources, targets = sentences(3_000)
    order = order_of(sources, targets, batch_tokens=500)
    plan = order.plan(0)
    for number in range(len(plan)):
        rows = plan.batch(number)
        assert len(rows) * max(sources[rows].max(), targets[rows].max()) <= 500


def test_an_example_larger_than_a_batch_is_refused():
    with pytest.raises(SettingError, match="an example of 30 tokens does not fit into a batch of 29"):
        order_of([1, 30], [1, 1], batch_tokens=29)


@pytest.mark.parametrize("batch_tokens", [1024, 2048, 4096])
def test_padding_of_captions_is_under_five_percent(batch_tokens):
    order = order_of(*sentences(29_000), batch_tokens=batch_tokens)
    assert order.padding() < 0.05


def test_padding_is_what_the_batches_show():
    sources, targets = sentences(2_000)
    order = order_of(sources, targets)
    plan = order.plan(5)
    places = 0
    for number in range(len(plan)):
        rows = plan.batch(number)
        places += len(rows) * int(sources[rows].max() + targets[rows].max())
    assert order.padding(5) == pytest.approx(1 - (sources.sum() + targets.sum()) / places)


@pytest.mark.parametrize(("file", "language"), [("raw/train", "de"), ("tok/train.lc.norm.tok", "fr")])
def test_padding_of_multi30k_is_under_five_percent(data_folder, file, language):
    def texts(side):
        with gzip.open(data_folder("multi30k") / f"{file}.{side}.gz", "rt", encoding="utf-8") as stream:
            return stream.read().splitlines()

    sides = texts("en"), texts(language)
    # Learned from a part of the texts, which is quicker and cuts them much alike.
    some = [text for side in sides for text in side[:4_000]]
    tokenizer = train_tokenizer(BpeSettings(), TextSettings(), texts=some, size=10_000)
    lengths = ([len(ids) + 1 for ids in tokenizer.encode_all(side)] for side in sides)
    order = order_of(*lengths, batch_tokens=4096)
    assert max(order.padding(epoch) for epoch in range(3)) < 0.05


def test_lengths_beyond_the_sorting_key_are_still_cut_right():
    long = np.array([70_000, 5, 66_000, 70_000], np.int32)
    order = order_of(long[::-1], long, batch_tokens=140_000)
    assert taken(order, 0, 4) == Counter(range(4))


def test_the_order_of_a_store_counts_end_tokens(make_store, make_pairs, symbols):
    store = make_store(make_pairs(30))
    order = Order.of(store, batch_tokens=1_000, seed=1)
    assert (order.source_lengths == store.source.sequences.lengths() + 1).all()
    assert (order.target_lengths == store.target.sequences.lengths() + 1).all()
    bare = Order.of(store, batch_tokens=1_000, seed=1, source_end=False)
    assert (bare.source_lengths == store.source.sequences.lengths()).all()
    alone = Order.of(make_store(make_pairs(30), source=None), batch_tokens=1_000, seed=1)
    assert not alone.source_lengths.any()
    assert alone.padding() < 0.5


def test_feature_vectors_get_no_end(tmp_path, symbols):
    np.save(tmp_path / "a.npy", np.zeros((3, 2)))
    encoder = Encoder(FeatureEncoder(2, longest=9), TextEncoder(symbols, longest=9))
    pairs = [Pair(str(tmp_path / "a.npy"), "a b", "list", 1)]
    store = write(tmp_path / "store", [Part(pairs, "")], encoder=encoder, workers=0)
    order = Order.of(store, batch_tokens=9, seed=1)
    assert (order.source_lengths.tolist(), order.target_lengths.tolist()) == ([3], [3])
    batch = next(Loader(store=store, order=order).batches())
    assert batch.source_features_BSF.shape == (1, 3, 2)
