"""English verb forms written by hand."""

from __future__ import annotations

import pytest

from dragoman.data.phrasebook.english_verbs import english_forms


@pytest.mark.parametrize(
    "row",
    [
        "eat eats ate eaten eating",
        "go goes went gone going",
        "have has had had having",
        "do does did done doing",
        "hit hits hit hit hitting",
        "forget forgets forgot forgotten forgetting",
        "forgive forgives forgave forgiven forgiving",
        "swim swims swam swum swimming",
        "write writes wrote written writing",
        "study studies studied studied studying",
        "play plays played played playing",
        "watch watches watched watched watching",
        "travel travels travelled travelled travelling",
        "open opens opened opened opening",
        "kiss kisses kissed kissed kissing",
        "dance dances danced danced dancing",
        "cry cries cried cried crying",
        "photograph photographs photographed photographed photographing",
        "be is was been being",
    ],
)
def test_forms(row):
    assert list(english_forms(row.split()[0])) == row.split()
