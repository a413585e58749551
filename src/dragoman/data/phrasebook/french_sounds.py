"""What French words do to their neighbours: elision, contraction, and the forms used before a vowel.

Words that depend on what follows arrive in capitals: LE and LES are articles (pronouns never contract), CE, MA, TA, SA,
BEAU, NOUVEAU and VIEUX have a second form before a vowel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.data.phrasebook.words import Token

_ELIDED = {
    "je": "j'",
    "me": "m'",
    "te": "t'",
    "se": "s'",
    "LE": "l'",
    "le": "l'",
    "la": "l'",
    "ne": "n'",
    "de": "d'",
    "que": "qu'",
    "lorsque": "lorsqu'",
    "jusque": "jusqu'",
    "parce que": "parce qu'",
    "c(e)": "c'",
}
_BEFORE_VOWEL = {
    "CE": "cet",
    "MA": "mon",
    "TA": "ton",
    "SA": "son",
    "BEAU": "bel",
    "NOUVEAU": "nouvel",
    "VIEUX": "vieil",
}
_CONTRACTED = {("à", "LE"): "au", ("à", "LES"): "aux", ("de", "LE"): "du", ("de", "LES"): "des"}
_ASPIRATED = frozenset(
    [
        "haricot",
        "haricots",
        "héros",
        "hamburger",
        "hamburgers",
        "huit",
        "huitième",
        "haut",
        "haute",
        "hauts",
        "hautes",
        "homard",
        "homards",
        "hockey",
        "handball",
        "hasard",
        "hamster",
        "hamsters",
        "hibou",
        "onze",
        "onzième",
        "oui",
        "yaourt",
        "yaourts",
        "yoga",
        "Hollande",
    ]
)
_VOWELS = frozenset("aàâeéèêëiîïoôuûùœhyAÀÂEÉÈÊIÎOÔUÛŒHÎ")


def opens_with_vowel(word: str) -> bool:
    """True when the word asks for l' and bel: a vowel or a mute h."""
    if word[0] in "yY":
        return word in ("y", "yeux")
    return word[0] in _VOWELS and word not in _ASPIRATED


def sound(tokens: list[Token]) -> list[Token]:
    """The same words as they are written side by side."""
    heard: list[Token] = []
    following = ""
    for word, marks in reversed(tokens):
        if (word, following) in _CONTRACTED:
            heard[-1] = (_CONTRACTED[word, following], marks | heard[-1][1])
        else:
            heard.append((_before(word, heard[-1][0]) if heard else word, marks))
        following = heard[-1][0]
    heard.reverse()
    return [(word.lower() if word.isupper() and word in _PENDING else word, marks) for word, marks in heard]


_PENDING = frozenset(["LE", "LES", *_BEFORE_VOWEL])


def _before(word: str, following: str) -> str:
    if word == "si" and following in ("il", "ils"):
        return "s'"
    if word not in _ELIDED and word not in _BEFORE_VOWEL:
        return word
    if opens_with_vowel(following):
        return _ELIDED.get(word) or _BEFORE_VOWEL[word]
    return word
