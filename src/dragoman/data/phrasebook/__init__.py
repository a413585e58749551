"""The built-in corpus: an English-French phrasebook generated from a grammar, with its gold word alignment."""

from dragoman.data.phrasebook.grammar import Phrase
from dragoman.data.phrasebook.sampling import REACHABLE, find, generate
from dragoman.data.phrasebook.splits import Splits, splits
from dragoman.data.phrasebook.words import words

__all__ = ["REACHABLE", "Phrase", "Splits", "find", "generate", "splits", "words"]
