"""What English words do to their neighbours: a becomes an, and pronouns contract with the verb that follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.data.phrasebook.words import Token

_CONTRACTED = {"am": "'m", "is": "'s", "are": "'re", "will": "'ll", "have": "'ve", "has": "'s", "would": "'d"}
_NEGATED = {"will": "won't", "can": "can't", "am": "am not"}
_SPELLED_AGAINST_SOUND = {
    "hour": True,
    "honest": True,
    "university": False,
    "useful": False,
    "European": False,
    "one-way": False,
    "uniform": False,
}


def negated(auxiliary: str) -> str:
    """The auxiliary with its `n't`; `am` has none."""
    return _NEGATED.get(auxiliary) or auxiliary + "n't"


def contracted(pronoun: Token, auxiliary: Token) -> Token:
    """I'm, you've, she'll: one word that means what both meant."""
    return pronoun[0] + _CONTRACTED[auxiliary[0]], pronoun[1] | auxiliary[1]


def contracts(auxiliary: str) -> bool:
    """True when a pronoun before it swallows the auxiliary."""
    return auxiliary in _CONTRACTED


def sound(tokens: list[Token]) -> list[Token]:
    """The same words with `an` where the next word opens with a vowel sound."""
    heard = list(tokens)
    for i, (word, marks) in enumerate(tokens[:-1]):
        if word == "a" and _opens_with_vowel(tokens[i + 1][0]):
            heard[i] = ("an", marks)
    return heard


def _opens_with_vowel(word: str) -> bool:
    return _SPELLED_AGAINST_SOUND.get(word, word[0] in "aeiouAEIOU")
