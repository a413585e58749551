"""Splitting of long texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.sentences import parts, sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("One", ["One"]),
        ("He left. She stayed… Why?", ["He left. ", "She stayed… ", "Why?"]),
        ("Dr. Smith met J. Doe. They spoke.", ["Dr. Smith met J. Doe. ", "They spoke."]),
        ("It costs 3.50 now. ok", ["It costs 3.50 now. ok"]),
        ("„Ja!“ «Oui.» No", ["„Ja!“ ", "«Oui.» ", "No"]),
        ('"Yes." He went.', ['"Yes." ', "He went."]),
        ("你好。再见！好", ["你好。", "再见！", "好"]),  # noqa: RUF001 - the marks are meant
        ("क्या? हाँ। ठीक", ["क्या? ", "हाँ। ", "ठीक"]),
        ("one\ntwo", ["one\n", "two"]),
        (" . a", [" . a"]),
    ],
)
def test_where_sentences_end(text, expected):
    assert sentences(text) == expected


@given(st.text(st.sampled_from("ab.!? \n\u3002\U0001f600\x00\u2028\t"), max_size=80), st.integers(1, 12))
def test_parts_are_the_text_and_fit(text, most):
    cut = list(parts(text, fits=lambda part: len(part) <= most))
    assert "".join(cut) == text
    assert all(len(part) <= most for part in cut)


def test_what_fits_stays_whole_and_words_stay_whole_where_they_can():
    assert list(parts("A. B. C.", fits=lambda _: True)) == ["A. B. C."]
    assert list(parts("aa bb cc dd", fits=lambda p: len(p) <= 6)) == ["aa bb ", "cc dd"]
    assert list(parts("aaaaaaa b", fits=lambda p: len(p) <= 3)) == ["aaa", "aaa", "a ", "b"]


def test_nothing_ever_fits():
    assert list(parts("ab c", fits=lambda _: False)) == ["a", "b", " ", "c"]


def test_a_long_line_is_not_measured_as_a_whole_again_and_again():
    asked = []

    def fits(part):
        asked.append(len(part))
        return len(part) <= 100

    assert "".join(parts("word " * 20_000, fits=fits)) == "word " * 20_000
    assert sum(asked) < 3_000_000
