"""Elision, contraction and forms before a vowel."""

from __future__ import annotations

import pytest

from dragoman.data.phrasebook.french_sounds import opens_with_vowel, sound


@pytest.mark.parametrize(
    ("separate", "together"),
    [
        ("LE eau", "l' eau"),
        ("la école", "l' école"),
        ("LE homme", "l' homme"),
        ("LE haricot", "le haricot"),
        ("LE hamburger", "le hamburger"),
        ("LE yaourt", "le yaourt"),
        ("de LE pain", "du pain"),
        ("de LES amis", "des amis"),
        ("de la eau", "de l' eau"),
        ("à LE marché", "au marché"),
        ("à LE hôtel", "à l' hôtel"),
        ("à LES États-Unis", "aux États-Unis"),
        ("essayer de le lire", "essayer de le lire"),
        ("je ai", "j' ai"),
        ("je ne ai pas", "je n' ai pas"),
        ("il me a vu", "il m' a vu"),
        ("que est -ce que il", "qu' est -ce qu' il"),
        ("si il pleut", "s' il pleut"),
        ("si elle vient", "si elle vient"),
        ("MA amie", "mon amie"),
        ("SA sœur", "sa sœur"),
        ("CE arbre", "cet arbre"),
        ("CE livre", "ce livre"),
        ("un BEAU appartement", "un bel appartement"),
        ("un BEAU chat", "un beau chat"),
        ("un VIEUX ami", "un vieil ami"),
        ("un NOUVEAU ordinateur", "un nouvel ordinateur"),
        ("de NOUVEAU", "de nouveau"),
        ("de huit", "de huit"),
        ("le onze", "le onze"),
        ("beaucoup de eau", "beaucoup d' eau"),
    ],
)
def test_words_side_by_side(separate, together):
    assert [word for word, _ in sound([(word, 0) for word in separate.split()])] == together.split()


def test_a_contraction_carries_the_marks_of_both_words():
    assert sound([("à", 1), ("LE", 2), ("marché", 4)]) == [("au", 3), ("marché", 4)]


def test_mute_and_aspirated_h():
    assert opens_with_vowel("hôtel")
    assert not opens_with_vowel("huit")
    assert opens_with_vowel("y")
    assert not opens_with_vowel("yaourt")
