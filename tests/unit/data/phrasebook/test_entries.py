"""Plurals, feminines and comparatives written by hand; entries read from their tables."""

from __future__ import annotations

import pytest

from dragoman.data.phrasebook.entries import (
    comparative,
    english_plural,
    feminine,
    french_plural,
    read_adjectives,
    read_nouns,
    verb,
)
from dragoman.data.phrasebook.lexicon import nouns, people
from dragoman.data.phrasebook.lexicon.times import english_number, french_number


@pytest.mark.parametrize(
    ("one", "many"),
    [
        ("apple", "apples"),
        ("secretary", "secretaries"),
        ("day", "days"),
        ("box", "boxes"),
        ("dish", "dishes"),
        ("child", "children"),
        ("woman", "women"),
        ("salesman", "salesmen"),
        ("actress", "actresses"),
        ("knife", "knives"),
        ("scarf", "scarves"),
        ("tomato", "tomatoes"),
        ("piano", "pianos"),
        ("photo", "photos"),
    ],
)
def test_english_plural(one, many):
    assert english_plural(one) == many


@pytest.mark.parametrize(
    ("one", "many"),
    [
        ("pomme", "pommes"),
        ("gâteau", "gâteaux"),
        ("cheval", "chevaux"),
        ("neveu", "neveux"),
        ("bleu", "bleus"),
        ("repas", "repas"),
        ("prix", "prix"),
        ("œil", "yeux"),
        ("grand-mère", "grands-mères"),
        ("beau", "beaux"),
        ("genou", "genoux"),
    ],
)
def test_french_plural(one, many):
    assert french_plural(one) == many


@pytest.mark.parametrize(
    ("masculine", "expected"),
    [
        ("grand", "grande"),
        ("rouge", "rouge"),
        ("heureux", "heureuse"),
        ("sportif", "sportive"),
        ("cher", "chère"),
        ("italien", "italienne"),
        ("bon", "bonne"),
        ("blanc", "blanche"),
        ("long", "longue"),
        ("beau", "belle"),
        ("vieux", "vieille"),
        ("nouveau", "nouvelle"),
        ("jaloux", "jalouse"),
        ("frais", "fraîche"),
        ("gentil", "gentille"),
        ("inquiet", "inquiète"),
        ("grec", "grecque"),
        ("passionnant", "passionnante"),
        ("épicé", "épicée"),
    ],
)
def test_feminine(masculine, expected):
    assert feminine(masculine) == expected


@pytest.mark.parametrize(
    ("adjective", "expected"),
    [
        ("big", "bigger"),
        ("old", "older"),
        ("nice", "nicer"),
        ("heavy", "heavier"),
        ("good", "better"),
        ("expensive", "more expensive"),
        ("boring", "more boring"),
        ("shy", "shyer"),
        ("brave", "braver"),
        ("slim", "slimmer"),
        ("clean", "cleaner"),
        ("young", "younger"),
    ],
)
def test_comparative(adjective, expected):
    assert comparative(adjective) == expected


def test_every_noun_has_both_numbers():
    for table in nouns._TABLES:
        for entry in nouns.nouns(table):
            assert entry.singular.french, entry.name
            assert entry.plural.french, entry.name
            assert entry.singular.english != entry.plural.english or entry.name == "fish", entry.name


def test_plurals_of_compound_nouns():
    (potato,) = read_nouns("vegetable", "potato=pomme/1 de terre/1 f>pommes/1 de terre/1")
    assert [word for word, _ in potato.plural.french] == ["pommes", "de", "terre"]
    (postman,) = read_nouns("public", "postman>postmen=facteur m")
    assert postman.plural.english == (("postmen", 1),)


def test_an_adjective_agrees():
    (white,) = read_adjectives("after", "white=blanc: clothes")
    forms = [white.french(feminine=f, plural=p) for f in (False, True) for p in (False, True)]
    assert forms == ["blanc", "blancs", "blanche", "blanches"]


def test_the_frame_of_a_verb():
    need = verb("need", "avoir [besoin/1] <de>")
    assert (need.french, need.french_preposition, need.reflexive) == ("avoir", "de", False)
    rest = verb("rest", "se reposer")
    assert (rest.french, rest.reflexive) == ("reposer", True)


@pytest.mark.parametrize(
    ("value", "english", "french"),
    [
        (1, "one", "un"),
        (16, "sixteen", "seize"),
        (20, "twenty", "vingt"),
        (21, "twenty-one", "vingt et un"),
        (22, "twenty-two", "vingt-deux"),
        (61, "sixty-one", "soixante et un"),
        (70, "seventy", "soixante-dix"),
        (71, "seventy-one", "soixante et onze"),
        (77, "seventy-seven", "soixante-dix-sept"),
        (80, "eighty", "quatre-vingts"),
        (81, "eighty-one", "quatre-vingt-un"),
        (90, "ninety", "quatre-vingt-dix"),
        (91, "ninety-one", "quatre-vingt-onze"),
        (99, "ninety-nine", "quatre-vingt-dix-neuf"),
    ],
)
def test_numbers(value, english, french):
    assert (english_number(value), french_number(value)) == (english, french)


@pytest.mark.parametrize(
    ("english", "feminine_form"),
    [
        ("nurse", "infirmière"),
        ("musician", "musicienne"),
        ("singer", "chanteuse"),
        ("lawyer", "avocate"),
        ("pilot", "pilote"),
    ],
)
def test_professions_of_women(english, feminine_form):
    (role,) = (entry for entry in people.professions() if entry.english == english)
    assert role.french(feminine=True, plural=False) == feminine_form


@pytest.mark.parametrize(
    ("name", "inside", "origin"),
    [
        ("Italy", "en Italie", "de Italie"),
        ("Japan", "à LE Japon", "de LE Japon"),
        ("the United States", "à LES États-Unis", "de LES États-Unis"),
    ],
)
def test_countries_take_their_own_prepositions(name, inside, origin):
    (spot,) = (entry for entry in people.countries() if entry.name == name)
    assert " ".join(word for word, _ in spot.inside.french) == inside
    assert " ".join(word for word, _ in spot.from_there.french) == origin
