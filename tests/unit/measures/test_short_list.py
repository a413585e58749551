import numpy as np
import pytest

from dragoman.measures.lexicon import learn_lexicon
from dragoman.measures.short_list import ShortList, ShortListSettings, learn_short_list

SOURCES = [[0, 1], [0, 2], [1, 2], [2, 0], [0]]
TARGETS = [[10, 11], [10, 12], [11, 12], [12, 10], [10, 13]]


def test_a_list_holds_the_best_translations_of_each_word():
    settings = ShortListSettings(most=2, least=0.0, frequent=1)
    found = learn_short_list(SOURCES, TARGETS, source_size=4, always=(1, 3), settings=settings)
    lexicon = learn_lexicon(SOURCES, TARGETS, source_size=4)
    assert found.always.tolist() == [1, 3, 10]
    for source in ([0], [1, 2], [2, 2, 0]):
        for count in (1, 2):
            best = {word for s in source for word in lexicon.best(s, count=count)}
            assert found.words(source, count=count).tolist() == sorted(best | {1, 3, 10})
    assert found.words([3], count=9).tolist() == [1, 3, 10], "a word that was never seen has no translation"
    assert found.words([3], count=9, also=[7, 3]).tolist() == [1, 3, 7, 10]
    assert found.words([0], count=50).tolist() == found.words([0], count=2).tolist()
    assert found.fits(4, 14)


def test_improbable_translations_are_left_out():
    lexicon = learn_lexicon(SOURCES, TARGETS, source_size=4)
    found = learn_short_list(
        SOURCES, TARGETS, source_size=4, always=(1,), settings=ShortListSettings(least=0.2, frequent=0)
    )
    for source in range(3):
        expected = {t for t in range(10, 14) if lexicon.probability(source, t) >= 0.2}
        assert set(found.words([source], count=99).tolist()) == expected | {1}
        assert expected < set(lexicon.best(source, count=99))


@pytest.mark.parametrize(
    ("changes", "sizes"),
    [
        ({}, (3, 14)),
        ({}, (4, 13)),
        ({"offsets": np.array([0, 2, 1, 2, 2])}, (4, 14)),
        ({"offsets": np.array([0, 1, 1, 1, 1])}, (4, 14)),
        ({"targets": np.array([-1, 11], dtype=np.int32)}, (4, 14)),
        ({"targets": np.array([10, 11], dtype=np.float32)}, (4, 14)),
        ({"always": np.array([], dtype=np.int32)}, (4, 14)),
    ],
)
def test_what_does_not_fit_a_model_is_known(changes, sizes):
    parts = {
        "offsets": np.array([0, 1, 2, 2, 2]),
        "targets": np.array([10, 11], dtype=np.int32),
        "always": np.array([13], dtype=np.int32),
    }
    assert ShortList(**parts).fits(4, 14)
    assert not ShortList(**{**parts, **changes}).fits(*sizes)
