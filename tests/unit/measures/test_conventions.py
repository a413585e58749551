"""Kinds of text told apart by their looks, and what is said of them."""

from __future__ import annotations

import pytest

from dragoman.measures.conventions import Looks, looks_of, warnings_for

PLAIN = ["Yes, he hit me with a pie.", "Il m'a entarté.", "Quoi ? Rien !", "So be it."] * 5
TOKENIZED = ["Yes , he hit me with a pie .", "Il m' a entarté .", "Quoi ?", "So be it ."] * 5
PIECES = ["Yes , he h@@ it me with a p@@ ie .", "Il m' a ent@@ ar@@ té .", "Qu@@ oi ?", "S@@ o be it ."] * 5


def said(hypotheses, references, *, expects_tokens=False, ignores_case=False):
    return " ".join(warnings_for(hypotheses, references, expects_tokens=expects_tokens, ignores_case=ignores_case))


def lower(lines):
    return [line.lower() for line in lines]


def test_looks():
    plain = looks_of(PLAIN)
    assert plain == Looks(tokenized=False, subwords=False, escaped=False, lowercased=False)
    assert looks_of(TOKENIZED).tokenized
    assert looks_of(PIECES).subwords
    assert looks_of(["it &apos;s"] * 20).escaped
    assert looks_of(lower(PLAIN)).lowercased


def test_french_spaces_and_scripts_without_capitals_mean_nothing():
    assert not looks_of(["Vraiment ? Oui !"] * 20).tokenized
    assert not looks_of(["字 字 字"] * 20).lowercased
    assert not looks_of(["0 1 2"] * 20).lowercased


def test_few_lines_say_nothing():
    assert not looks_of(lower(TOKENIZED[:4])).tokenized
    assert not looks_of(lower(TOKENIZED[:4])).lowercased


@pytest.mark.parametrize(
    ("hypotheses", "references", "words"),
    [
        (PLAIN, PLAIN, ""),
        (TOKENIZED, TOKENIZED, "ask for tokenized_bleu"),
        (TOKENIZED, PLAIN, "hypotheses look tokenised and the references do not"),
        (PLAIN, TOKENIZED, "references look tokenised and the hypotheses do not"),
        (PIECES, TOKENIZED, "cut into pieces"),
        (lower(PLAIN), PLAIN, "hypotheses are all in lower case and the other side is not"),
        (PLAIN, lower(PLAIN), "references are all in lower case"),
        (lower(PLAIN), lower(PLAIN), "not to be compared with scores of cased text"),
        (["Don&apos;t."] * 20, ["Don't."] * 20, "hypotheses alone hold entities"),
    ],
)
def test_what_is_said(hypotheses, references, words):
    found = said(hypotheses, references)
    assert words in found
    assert bool(found) == bool(words)


def test_metrics_on_tokens_want_tokens_and_may_not_care_for_case():
    assert not said(lower(TOKENIZED), lower(TOKENIZED), expects_tokens=True, ignores_case=True)
    assert "ask for bleu" in said(PLAIN, PLAIN, expects_tokens=True)
