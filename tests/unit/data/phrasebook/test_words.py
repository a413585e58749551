"""The words that alignments count."""

from __future__ import annotations

import pytest

from dragoman.data.phrasebook.words import bitext, joined, links, words


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Il m'a entarté.", "Il m' a entarté ."),
        ("I don't know.", "I don't know ."),
        ("I'm here, Paul!", "I'm here , Paul !"),
        ("Qu'est-ce que vous mangez ?", "Qu' est -ce que vous mangez ?"),
        ("Avez-vous un rendez-vous ?", "Avez -vous un rendez-vous ?"),
        ("Quel temps fait-il aujourd'hui ?", "Quel temps fait -il aujourd'hui ?"),
        ("Y a-t-il du pain ?", "Y a -t-il du pain ?"),
        ("Ma grand-mère a vingt-deux ans.", "Ma grand-mère a vingt-deux ans ."),
        ("It's three o'clock.", "It's three o'clock ."),
        ("Nous sommes le 1er mars.", "Nous sommes le 1er mars ."),
        ("Donnez-le-moi, s'il vous plaît.", "Donnez -le -moi , s' il vous plaît ."),
        ("Les cerfs-volants sont là-bas.", "Les cerfs-volants sont là-bas ."),
        ("It costs 3.50 euros.", "It costs 3.50 euros ."),
    ],
)
def test_words(sentence, expected):
    assert words(sentence) == expected.split()


def test_a_bitext_aligns_equal_numbers():
    piece = bitext("last/1 week/2", "la semaine/2 dernière/1")
    assert links(list(piece.english), list(piece.french)) == ((0, 2), (1, 1))


def test_a_bitext_without_numbers_aligns_all_with_all():
    piece = bitext("of course", "bien sûr")
    assert links(list(piece.english), list(piece.french)) == ((0, 0), (0, 1), (1, 0), (1, 1))


def test_several_numbers_on_one_word():
    piece = bitext("at/1 the/2 café/3", "au/1,2 café/3")
    assert links(list(piece.english), list(piece.french)) == ((0, 0), (1, 0), (2, 1))


def test_joined_opens_every_sentence_with_a_capital():
    tokens = [(word, 0) for word in ("où", "est", "-il", " ?", "l'", "eau", ",", "ici", ".")]
    assert joined(tokens) == "Où est-il ? L'eau, ici."
