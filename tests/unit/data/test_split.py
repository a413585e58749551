import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.data.corpus import Pair, TextFiles, build
from dragoman.data.fingerprints import folded
from dragoman.data.split import Split, SplitSettings, connected, split
from dragoman.errors import DataError, SettingError

SENTENCES = st.lists(st.tuples(st.integers(0, 12), st.integers(8, 20)), min_size=1, max_size=40)


def pairs(sides):
    return [Pair(f"s{source}", f"s{target}", "file", i) for i, (source, target) in enumerate(sides, 1)]


def obvious(rows):
    """The label of each row, by joining two groups at a time."""
    labels = list(range(len(rows)))
    for i, one in enumerate(rows):
        for j, other in enumerate(rows[:i]):
            if set(one) & set(other):
                low, high = sorted((labels[i], labels[j]))
                labels = [low if label == high else label for label in labels]
    return labels


@given(SENTENCES)
def test_groups_agree_with_the_obvious_way_to_find_them(rows):
    groups, expected = connected(np.array(rows)).tolist(), obvious(rows)
    assert len(set(zip(groups, expected, strict=True))) == len(set(groups)) == len(set(expected))


def test_a_long_chain_is_one_group():
    order = np.random.default_rng(1).permutation(20_000)
    chain = np.stack([np.arange(20_000), np.arange(1, 20_001)], axis=1)[order]
    assert set(connected(chain).tolist()) == {0}


@settings(max_examples=60)
@given(SENTENCES, st.integers(0, 5), st.sampled_from([0.05, 0.1, 1, 3]), st.sampled_from(["both", "source"]))
def test_no_sentence_of_one_part_occurs_in_another(sides, seed, size, kind):
    corpus = pairs([(s, t) for s, t in sides if s != t] or [(0, 9)])
    try:
        made = split(corpus, SplitSettings(valid=size, test=size, seed=seed, sides=kind))
    except (DataError, SettingError):
        return
    assert leaks(made, corpus, kind) == []
    wanted = round(size * len(corpus)) if size < 1 else size
    assert made.sizes() == {"train": len(corpus) - 2 * wanted, "valid": wanted, "test": wanted}


def leaks(made, corpus, kind="both"):
    parts = {}
    for part, pair in made.divide(corpus):
        for side in (pair.source, pair.target)[: 2 if kind == "both" else 1]:
            parts.setdefault(folded(side), set()).add(part)
    return [sentence for sentence, found in parts.items() if len(found) > 1]


SINGLES = pairs([(i, 1000 + i) for i in range(1000)])


def test_sizes_are_counts_or_shares():
    made = split(SINGLES, SplitSettings(valid=10, test=0.25))
    assert made.sizes() == {"train": 740, "valid": 10, "test": 250}
    assert made.largest_group == 1


def test_a_split_depends_on_the_seed_and_not_on_the_order():
    def test_part(corpus, seed):
        made = split(corpus, SplitSettings(test=100, seed=seed))
        return {pair.source for part, pair in made.divide(corpus) if part == "test"}

    assert test_part(SINGLES, 1) == test_part(SINGLES[::-1], 1)
    assert len(test_part(SINGLES, 1) & test_part(SINGLES, 2)) < 30


def test_a_sentence_is_the_same_in_other_case_and_on_the_other_side():
    corpus = [Pair("Taxi !", "a", "f", 1), Pair("b", "TAXI  !", "f", 2), Pair("c", "d", "f", 3)]
    assert split(corpus, SplitSettings(test=1)).places.tolist() == [0, 0, 2]


def test_labels_need_the_sources_alone():
    corpus = pairs([(i, 1000 + i % 2) for i in range(100)])
    with pytest.raises(DataError, match="tie 50 pairs into one group") as caught:
        split(corpus, SplitSettings(test=10))
    assert 'sides = "source"' in caught.value.remedy
    assert split(corpus, SplitSettings(test=10, sides="source")).sizes()["test"] == 10


def test_text_without_sources_is_split_too():
    corpus = [Pair("", f"s{i % 50}", "f", i) for i in range(100)]
    made = split(corpus, SplitSettings(test=10))
    assert made.sizes() == {"train": 90, "valid": 0, "test": 10}
    assert {p.target for part, p in made.divide(corpus) if part == "test"}.isdisjoint(
        p.target for part, p in made.divide(corpus) if part == "train"
    )


@pytest.mark.parametrize("change", [1, -1])
def test_a_corpus_that_changes_meanwhile_is_noticed(change):
    made = split(SINGLES, SplitSettings(test=10))
    changed = SINGLES[:-1] if change < 0 else [*SINGLES, SINGLES[0]]
    with pytest.raises(DataError, match="has changed"):
        list(made.divide(changed))


def test_parts_are_named_by_place():
    made = Split(("train", "valid", "test"), np.array([2, 0, 1], dtype=np.uint8), 1)
    assert [part for part, _ in made.divide(SINGLES[:3])] == ["test", "train", "valid"]


@pytest.mark.parametrize(
    ("sizes", "words"),
    [({}, "both parts are empty"), ({"test": 1.5}, "neither a count nor a share"), ({"test": -1.0}, "test")],
)
def test_settings_that_make_no_sense(sizes, words):
    with pytest.raises(SettingError, match=words):
        SplitSettings(**sizes)


def test_something_must_be_left_for_training():
    with pytest.raises(SettingError, match="leave none of 1,000"):
        split(SINGLES, SplitSettings(valid=500, test=500))


def test_a_real_corpus_is_split_without_a_leak(data_folder):
    folder = data_folder("multi30k") / "raw"
    corpus = build(TextFiles(source=str(folder / "train.en.gz"), target=str(folder / "train.fr.gz")))
    made = split(corpus, SplitSettings(valid=1000, test=0.05))
    assert made.sizes() == {"train": 26_550, "valid": 1000, "test": 1450}
    assert leaks(made, corpus) == []
