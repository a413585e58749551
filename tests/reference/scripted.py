"""The worked example of the lecture as a step of a decoder, whose state holds the whole prefix.

`Table` gives each prefix its distribution. Its state also holds the number of its sentence, so a state that was not
reordered gives other scores at once.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch

from dragoman.decoding.step import Scores, Trace

WORDS = (
    "<begin>",
    "<end>",
    "he",
    "I",
    "hit",
    "struck",
    "was",
    "got",
    "a",
    "me",
    "with",
    "on",
    "pie",
    "tart",
    "soup",
    "then",
    "off",
)
BEGIN, END = 0, 1
HIDDEN = 6


@dataclass(frozen=True)
class Prefixes:
    """A state: the tokens of each row, and the sentence that each belongs to."""

    tokens: tuple[tuple[int, ...], ...]
    sentences: tuple[int, ...]


class Table:
    """A step whose log-probabilities come from a function of (sentence, prefix)."""

    def __init__(self, row, *, ids=None):
        self.row, self.ids = row, ids
        self.widths: list[int] = []

    def __call__(self, tokens_R, state):
        assert tokens_R.shape[0] == len(state.tokens), "as many tokens as rows"
        self.widths.append(len(state.tokens))
        after = tuple((*p, t) for p, t in zip(state.tokens, tokens_R.tolist(), strict=True))
        logits = torch.stack([self.row(s, p[1:]) for s, p in zip(state.sentences, after, strict=True)])
        return Scores.of(logits, self.ids), Prefixes(after, state.sentences)

    def trace(self, tokens_R, state):
        scores, after = self(tokens_R, state)
        hidden, attention, lengths = [], [], []
        for sentence, prefix in zip(after.sentences, after.tokens, strict=True):
            noise = random.Random(f"{sentence} {prefix}")
            hidden.append([noise.gauss(0, 1) for _ in range(HIDDEN)])
            lengths.append(2 + sentence % 3)
            weights = [noise.random() for _ in range(lengths[-1])]
            attention.append([w / sum(weights) for w in weights] + [0.0] * (4 - lengths[-1]))
        return scores, after, Trace(torch.tensor(hidden), torch.tensor(attention), torch.tensor(lengths))

    def select(self, state, rows_R):
        rows = rows_R.tolist()
        return Prefixes(tuple(state.tokens[r] for r in rows), tuple(state.sentences[r] for r in rows))

    def join(self, state, other):
        return Prefixes(state.tokens + other.tokens, state.sentences + other.sentences)


def start(*sentences):
    """The state in which sentences begin."""
    return Prefixes(tuple(() for _ in sentences), sentences)


def scripted() -> Table:
    """The worked example, by running sums; whoever takes `he hit a` cannot go back."""
    sums = {
        "he": -0.7,
        "I": -0.9,
        "he hit": -1.7,
        "he struck": -2.9,
        "I was": -1.6,
        "I got": -1.8,
        "he hit a": -2.4,
        "he hit me": -2.5,
        "I was hit": -2.9,
        "I was struck": -3.8,
        "he hit a pie": -3.4,
        "he hit a tart": -4.0,
        "he hit me with": -3.2,
        "he hit me on": -3.3,
        "he hit me with a": -3.6,
        "he hit me with me": -4.9,
        "he hit me on a": -3.9,
        "he hit me on me": -5.2,
        "he hit me with a pie": -4.1,
        "he hit me with a tart": -5.3,
        "he hit me on a pie": -4.9,
        "he hit me on a tart": -5.0,
        "he hit a pie <end>": -4.7,
        "he hit me with a pie <end>": -4.3,
        "he hit me on a pie <end>": -5.2,
    }
    after: dict[tuple[str, ...], dict[str, float]] = {}
    for text, total in sums.items():
        *prefix, last = text.split()
        after.setdefault(tuple(prefix), {})[last] = total - sums.get(" ".join(prefix), 0.0)

    def row(_sentence, prefix):
        known = after.get(tuple(WORDS[t] for t in prefix), {})
        probs = torch.zeros(len(WORDS), dtype=torch.float64)
        for word, log_prob in known.items():
            probs[WORDS.index(word)] = torch.tensor(log_prob, dtype=torch.float64).exp()
        if probs[END] == 0:  # unlikely in the middle of the table, a little less so beside it
            probs[END] = 1e-4 if known else 0.07
        probs[-3:] = (1 - probs.sum()) / 3  # what the notes do not tell goes to three words that they do not use
        return probs.log().float()

    return Table(row)
