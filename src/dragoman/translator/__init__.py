"""Text in, translations out."""

from dragoman.translator.loading import load
from dragoman.translator.outputs import Alternative, Explanation, Score, Token, Translation, Word
from dragoman.translator.requests import Alignments, Blocklist, Glossary, Guard, Request
from dragoman.translator.translator import Batching, LanguageModel, Translator
from dragoman.translator.workers import Loading, shared

__all__ = [
    "Alignments",
    "Alternative",
    "Batching",
    "Blocklist",
    "Explanation",
    "Glossary",
    "Guard",
    "LanguageModel",
    "Loading",
    "Request",
    "Score",
    "Token",
    "Translation",
    "Translator",
    "Word",
    "load",
    "shared",
]
