"""An exported model that does not follow the original is found out."""

from __future__ import annotations

import pytest

from dragoman.errors import DataError, ModelError
from dragoman.interop.agreement import agreement, check_sentences, spoken
from dragoman.text.build import TextSettings
from dragoman.text.subword import BpeSettings
from reference.bundles import bundle, sentences

MADE = bundle()
ORIGINALS = spoken(MADE, sentences(6))


class Faithful:
    """Says what the original says."""

    def read(self, source):
        return list(next(each.reads for each in ORIGINALS if each.source == source))

    def greedy(self, sources, *, most):
        return [list(each.ids) for each in ORIGINALS]

    def log_probs(self, sources, targets):
        return [list(each.log_probs) for each in ORIGINALS]

    def text(self, ids):
        return MADE.tokenizers.target.decode(ids)


class ReadsOtherwise(Faithful):
    def read(self, source):
        return super().read(source)[:-1]


class WritesOtherwise(Faithful):
    def text(self, ids):
        return super().text(ids).upper() + "!"


class ThinksOtherwise(Faithful):
    def log_probs(self, sources, targets):
        return [[value + 0.01 for value in each] for each in super().log_probs(sources, targets)]


class SaysOtherwise(Faithful):
    def greedy(self, sources, *, most):
        return [[*ids[:-1], ids[-1] + 1] for ids in super().greedy(sources, most=most)]

    def log_probs(self, sources, targets):
        if len(sources) == len(ORIGINALS):
            return super().log_probs(sources, targets)
        return [[-9.0] * len(targets[0])]


class SaysWhatIsAsGood(SaysOtherwise):
    def log_probs(self, sources, targets):
        if len(sources) == len(ORIGINALS):
            return super().log_probs(sources, targets)
        return [list(each.log_probs) for each in ORIGINALS if each.reads == tuple(sources[0])]


class StopsEarly(Faithful):
    def greedy(self, sources, *, most):
        return [ids[:-1] for ids in super().greedy(sources, most=most)]


def test_one_that_follows():
    found = agreement(Faithful(), ORIGINALS)
    assert (found.sentences, found.same_outputs, found.difference) == (6, 6, 0.0)
    assert str(found).startswith("6 of 6 greedy outputs are the same token by token; log-probabilities of")


@pytest.mark.parametrize(
    ("exported", "problem"),
    [
        (ReadsOtherwise, "is read as"),
        (WritesOtherwise, "are written as"),
        (ThinksOtherwise, "has the log-probability"),
        (SaysOtherwise, "becomes"),
        (StopsEarly, "becomes"),
    ],
)
def test_one_that_does_not(exported, problem):
    with pytest.raises(ModelError, match=f"does not say what the original says.*{problem}"):
        agreement(exported(), ORIGINALS)


def test_tokens_that_are_as_good_are_no_difference():
    found = agreement(SaysWhatIsAsGood(), ORIGINALS)
    assert found.same_outputs == 0


def test_where_bits_are_fewer_differences_are_counted():
    found = agreement(SaysOtherwise(), ORIGINALS, exact=False)
    assert (found.same_outputs, found.exact) == (0, False)
    assert agreement(ThinksOtherwise(), ORIGINALS, exact=False).difference == pytest.approx(0.01)


def test_sentences_are_those_given_or_of_the_phrasebook():
    assert check_sentences(MADE, ["a", " ", "b"]) == ["a", "b"]
    assert len(check_sentences(MADE)) == len(set(check_sentences(MADE))) == 48
    with pytest.raises(DataError, match="no sentences"):
        check_sentences(MADE, [" "])


def test_a_model_of_several_languages_is_asked_for_each_of_them():
    text = TextSettings(source=BpeSettings(), vocabulary_size=420, symbols=("<2fr>", "<2de>"))
    made = bundle(text=text)
    asked = check_sentences(made)
    assert [each[:5] for each in asked[:3]] == ["<2fr>", "<2de>", "<2fr>"]
    assert check_sentences(made, ["<2fr>a"]) == ["<2fr>a"]
    assert len(spoken(made, asked[:4])) == 4
