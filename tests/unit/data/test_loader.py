"""The loader: the same stream of batches, bit for bit, whoever prepares it and wherever it starts."""

from __future__ import annotations

import itertools
import multiprocessing
import random
import subprocess
import sys
import threading
import time
from dataclasses import fields

import numpy as np
import pytest
import torch

from dragoman.data.encoding import Encoder, TextEncoder
from dragoman.data.loader import Loader, Sampling
from dragoman.data.noise import BartNoise, Spoiled
from dragoman.data.order import Order
from dragoman.data.preparation import Part, write
from dragoman.errors import FileError, SettingError
from dragoman.text.vocabulary import BOS, EOS


@pytest.fixture
def make_loader(make_store, make_pairs, dropout):
    """A function to a loader over 400 pairs that are cut anew in every epoch; the same store every time."""
    store = make_store(make_pairs(300), make_pairs(100, seed=5), source=dropout, target=dropout, keep_text=True)

    def make(*, weights=(1.0, 1.5), seed=3, sampled=True, **options):
        order = Order.of(store, batch_tokens=300, seed=seed, weights=weights)
        sampling = Sampling(dropout, dropout) if sampled else Sampling()
        return Loader(store=store, order=order, sampling=sampling, **options)

    return make


def values(batch):
    return {
        f.name: value.tolist() if isinstance(value := getattr(batch, f.name), torch.Tensor) else value
        for f in fields(batch)
    }


def some(loader, count, position=0):
    batches = loader.batches(position)
    taken = [values(batch) for batch in itertools.islice(batches, count)]
    batches.close()
    return taken


# ---- what is in a batch ------------------------------------------------------------------------------------------


def test_batches_hold_the_encoded_pairs(make_store, make_pairs, symbols):
    pairs = make_pairs(60)
    store = make_store(pairs)
    loader = Loader(store=store, order=Order.of(store, batch_tokens=200, seed=0))
    seen = []
    for batch in loader.epoch():
        for row, example in enumerate(batch.examples_B.tolist()):
            source, target = symbols.encode(pairs[example].source), symbols.encode(pairs[example].target)
            assert batch.source_ids_BS[row, : batch.source_lengths_B[row]].tolist() == [*source, EOS]
            assert batch.labels_BT[row, : batch.target_lengths_B[row]].tolist() == [*target, EOS]
            seen.append(example)
    assert sorted(seen) == list(range(60))


def test_epochs_end_and_may_be_taken_one_by_one(make_loader):
    loader = make_loader(sampled=False)
    first, second = list(loader.epoch(0)), list(loader.epoch(1))
    assert first[-1].position == loader.order.examples == 450
    assert second[-1].position == 900
    assert [values(b) for b in first + second] == some(loader, len(first) + len(second))
    assert list(loader.batches(450, until=450)) == []


def test_sources_without_an_end_token(make_store, make_pairs):
    store = make_store(make_pairs(20))
    batch = next(Loader(store=store, order=Order.of(store, batch_tokens=200, seed=0, source_end=False)).batches())
    assert not (batch.source_ids_BS == EOS).any()


def test_batches_come_at_250_000_tokens_a_second_and_more(make_store, make_pairs):
    """The promise is 50 times what a small model trains on; a quiet machine does a hundred times better than this."""
    store = make_store(make_pairs(3_000))
    loader = Loader(store=store, order=Order.of(store, batch_tokens=1_000, seed=0))
    begin = time.perf_counter()
    tokens = sum(batch.target_tokens for batch in loader.batches(until=30_000))
    assert tokens / (time.perf_counter() - begin) > 250_000


# ---- the same for everybody --------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampled", [False, True])
def test_workers_change_nothing(make_loader, sampled):
    alone = some(make_loader(sampled=sampled), 30)
    for workers in (1, 4):
        assert some(make_loader(sampled=sampled, workers=workers), 30) == alone


def test_resuming_changes_nothing(make_loader):
    whole = some(make_loader(), 40)
    for stop in (1, 13, 27, 39):
        resumed = some(make_loader(workers=stop % 2), 40 - stop, position=whole[stop - 1]["position"])
        assert resumed == whole[stop:]


def test_ranks_share_each_batch(make_loader):
    whole = some(make_loader(), 25)
    ranks = [some(make_loader(rank=r, ranks=3), 25) for r in range(3)]
    for batch, *shares in zip(whole, *ranks, strict=True):
        for rank, share in enumerate(shares):
            assert share["examples_B"] == batch["examples_B"][rank::3]
            assert share["position"] == batch["position"]
            assert share["target_lengths_B"] == batch["target_lengths_B"][rank::3]
        assert sum(share["target_tokens"] for share in shares) == batch["target_tokens"]


# ---- cutting anew ------------------------------------------------------------------------------------------------


def rows(batches):
    """What stands in the labels of each example, epoch by epoch."""
    return {
        (batch["epoch"], example): labels[:length]
        for batch in batches
        for example, labels, length in zip(
            batch["examples_B"], batch["labels_BT"], batch["target_lengths_B"], strict=True
        )
    }


def test_cuts_differ_between_epochs_and_seeds_and_spell_the_same(make_loader, make_pairs, dropout):
    loader = make_loader(weights=(1.0, 1.0))
    cuts = rows(values(b) for b in loader.batches(until=800))
    other = rows(values(b) for b in make_loader(weights=(1.0, 1.0), seed=4).batches(until=800))
    assert sum(cuts[0, i] != cuts[1, i] for i in range(400)) > 200
    assert sum(cuts[0, i] != other[0, i] for i in range(400)) > 200
    pairs = [*make_pairs(300), *make_pairs(100, seed=5)]
    for i, pair in enumerate(pairs):
        assert dropout.decode(cuts[0, i]) == pair.target


def test_cuts_do_not_depend_on_the_batch(make_loader):
    """The same examples in other company: a corpus more does not change how those of the first are cut."""
    both, alone = make_loader(weights=(1.0, 1.0)), make_loader(weights=(1.0, 0.0))
    cuts = rows(values(b) for b in both.epoch())
    for key, row in rows(values(b) for b in alone.epoch()).items():
        assert row == cuts[key]


def test_an_example_that_comes_twice_is_cut_twice(make_loader):
    loader = make_loader(weights=(2.0, 0.0))
    cuts = {}
    for batch in loader.epoch():
        for example, labels in zip(batch.examples_B.tolist(), batch.labels_BT.tolist(), strict=True):
            cuts.setdefault(example, []).append([i for i in labels if i])
    assert all(len(two) == 2 for two in cuts.values())
    assert sum(one != other for one, other in cuts.values()) > 150


def test_cuts_are_those_of_the_tokenizer_with_the_seed_of_the_example(make_loader, dropout):
    loader = make_loader()
    planned = next(loader.order.batches())
    batch = next(loader.batches())
    texts = loader.store.source.texts(planned.examples), loader.store.target.texts(planned.examples)
    for row, seed in enumerate(planned.seeds.tolist()):
        generator = random.Random(seed)
        for ids_BS, lengths_B, side in (
            (batch.source_ids_BS, batch.source_lengths_B, texts[0]),
            (batch.labels_BT, batch.target_lengths_B, texts[1]),
        ):
            assert ids_BS[row, : lengths_B[row] - 1].tolist() == dropout.sample(side[row], generator)


def test_prefixes_stay_and_an_example_cut_too_long_is_taken_as_stored(tmp_path, make_pairs, dropout):
    tag = dropout.vocabulary.symbol("<2fr>")
    pairs = make_pairs(100)
    longest = max(len(dropout.encode(p.source)) for p in pairs) + 1
    side = TextEncoder(dropout, longest=longest, keep_text=True)
    part = Part(pairs, "", source_prefix=(tag,))
    store = write(tmp_path / "store", [part], encoder=Encoder(side, side), workers=0)
    loader = Loader(store=store, order=Order.of(store, batch_tokens=300, seed=0), sampling=Sampling(source=dropout))
    as_stored = 0
    for batch in loader.epoch():
        assert (batch.source_ids_BS[:, 0] == tag).all()
        assert batch.source_lengths_B.max() <= longest + 1
        stored = store.source.sequences.take(batch.examples_B.numpy())
        for row, ids in enumerate(np.split(stored.values, np.cumsum(stored.lengths)[:-1])):
            is_long = len(ids) > 0.8 * longest
            as_stored += is_long and batch.source_ids_BS[row, : len(ids)].tolist() == ids.tolist()
    assert as_stored


def test_a_store_without_text_cannot_be_cut_anew(make_store, make_pairs, dropout):
    store = make_store(make_pairs(5), source=dropout, target=dropout)
    order = Order.of(store, batch_tokens=600, seed=0)
    with pytest.raises(SettingError, match="keep"):
        Loader(store=store, order=order, sampling=Sampling(target=dropout))


def test_a_tokenizer_with_one_way_of_cutting_needs_no_text(make_store, make_pairs, symbols):
    store = make_store(make_pairs(5))
    loader = Loader(store=store, order=Order.of(store, batch_tokens=600, seed=0), sampling=Sampling(symbols, symbols))
    assert next(loader.batches()).rows


def test_workers_are_light():
    """What a worker imports to do its work does not bring torch along."""
    code = "import sys, dragoman.data.loader, dragoman.data.preparation; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---- ending ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampled", [False, True])
def test_closing_early_leaves_nothing_behind(make_loader, sampled):
    threads = threading.active_count()
    batches = make_loader(workers=2, sampled=sampled).batches()
    next(batches)
    assert len(multiprocessing.active_children()) == 2
    batches.close()
    assert not multiprocessing.active_children()
    assert threading.active_count() == threads


def test_an_error_in_a_worker_arrives_with_its_message(make_loader):
    loader = make_loader(workers=1)
    (loader.store.folder / "target.values").write_bytes(b"")  # which the worker opens after us
    with pytest.raises(FileError, match=r"target\.values: not the file of"):
        next(loader.batches())
    assert not multiprocessing.active_children()


# ---- tasks made of text alone, and prompts -------------------------------------------------------------------------


@pytest.fixture
def make_noised(make_store, make_pairs, dropout):
    """A function to a loader over text alone that is spoiled, and cut anew in every epoch."""
    store = make_store(make_pairs(200), source=None, target=dropout, keep_text=True)
    noise = Spoiled(BartNoise(), mask=dropout.vocabulary["<2fr>"], sentence_ends=frozenset())

    def make(*, seed=3, **options):
        order = Order.of(store, batch_tokens=300, seed=seed, made_of="text")
        return Loader(store=store, order=order, noise=noise, sampling=Sampling(None, dropout), **options)

    return make


def test_noise_is_a_function_of_seed_epoch_and_example(make_noised, dropout):
    loader = make_noised()
    planned = next(loader.order.batches(loader.order.examples))
    batch = next(loader.epoch(1))
    for row, (example, seed) in enumerate(zip(planned.examples, planned.seeds.tolist(), strict=True)):
        generator = random.Random(seed)
        (text,) = loader.store.target.texts(np.array([example]))
        noised = loader.noise(dropout.sample(text, generator), generator)
        source = batch.source_ids_BS[row, : int(batch.source_lengths_B[row])].tolist()
        assert source == [*noised.source, EOS]
        assert batch.labels_BT[row, : int(batch.target_lengths_B[row])].tolist() == [*noised.target, EOS]
    assert some(loader, 3) != some(make_noised(seed=4), 3)


def test_noise_is_the_same_whoever_makes_it_and_from_any_position(make_noised):
    whole = some(make_noised(), 12)
    assert some(make_noised(workers=2), 12) == whole
    assert some(make_noised(), 4, position=whole[7]["position"]) == whole[8:]
    parts = [some(make_noised(rank=rank, ranks=2), 1)[0] for rank in range(2)]
    rows = [row for part in parts for row in zip(part["examples_B"], part["source_ids_BS"], strict=True)]
    expected = dict(zip(whole[0]["examples_B"], whole[0]["source_ids_BS"], strict=True))
    assert len(rows) == len(expected)
    for example, ids in rows:
        assert [i for i in ids if i] == [i for i in expected[example] if i]


def test_batches_of_noise_are_about_as_large_as_asked_for(make_noised):
    for batch in itertools.islice(make_noised().batches(), 20):
        assert batch.source_ids_BS.numel() <= 300 * 2  # cut anew, texts are longer than in the store


@pytest.mark.parametrize("prompts", ["given", "learned"])
def test_a_prompt_and_its_answer_are_one_sequence(make_store, make_pairs, prompts):
    store = make_store(make_pairs(100))
    order = Order.of(store, batch_tokens=200, seed=3, made_of="joined")
    for batch in Loader(store=store, order=order, prompts=prompts).epoch():
        assert batch.source_ids_BS is None
        assert batch.inputs_BT.numel() <= 200
        answers = 0
        for row, example in enumerate(batch.examples_B.tolist()):
            (prompt,), (answer,) = (
                [side.sequences.take(np.array([example])).values.tolist()] for side in (store.source, store.target)
            )
            length = int(batch.target_lengths_B[row])
            assert batch.inputs_BT[row, :length].tolist() == [BOS, *prompt, *answer]
            assert batch.labels_BT[row, :length].tolist() == [*prompt, *answer, EOS]
            answers += len(answer) + 1
            if prompts == "given":
                assert int(batch.prompt_lengths_B[row]) == len(prompt)
        if prompts == "given":
            assert batch.target_tokens == answers
            assert sum(part.target_tokens for part in batch.split(3)) == answers
        else:
            assert batch.prompt_lengths_B is None
            assert batch.target_tokens == int(batch.target_lengths_B.sum())
