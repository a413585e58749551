"""Alignments from texts alone."""

from __future__ import annotations

import random

from dragoman.measures.aligner import align_corpus
from dragoman.measures.alignment import Link


def test_words_that_go_together_are_linked_wherever_they_stand():
    noise = random.Random(1)
    sources = [[f"w{noise.randrange(12)}" for _ in range(5)] for _ in range(300)]
    swapped = [[words[1], words[0], *words[2:]] for words in sources]
    targets = [[word.upper().replace("W", "T") + "," for word in words] for words in swapped]
    found = align_corpus(sources, targets, first=20)
    assert len(found) == 20
    for words, gold in zip(sources, found, strict=False):
        if len(set(words)) == len(words):
            assert gold.sure == {Link(0, 1), Link(1, 0), Link(2, 2), Link(3, 3), Link(4, 4)}
        assert gold.sure <= gold.possible


def test_case_and_marks_make_no_other_word():
    pairs = [(["Cat", "dog."], ["chat", "Chien"]), (["cat,"], ["Chat"]), (["dog"], ["chien!"])] * 3
    assert align_corpus([s for s, _ in pairs], [t for _, t in pairs], first=1)[0].sure == {Link(0, 0), Link(1, 1)}
