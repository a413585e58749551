"""Normalisation: every setting, every kind of character, and that twice is as good as once."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import TextError
from dragoman.text.normalize import Normalization, Normalizer

TREATMENTS = st.sampled_from(["strip", "keep"])
SETTINGS = st.builds(
    Normalization,
    unicode=st.sampled_from(["NFC", "NFKC", "none"]),
    spaces=st.sampled_from(["collapse", "keep"]),
    control=TREATMENTS,
    zero_width=TREATMENTS,
    bidi=TREATMENTS,
)
AWKWARD = st.text(
    st.one_of(
        st.characters(exclude_categories=("Cs",)),
        st.sampled_from(
            "  \t\n\r\x00\x1f\x85\u00a0\u2028\u200b\ufeff\u00ad\u202e\u200f\u0301\u2581\u00a8\u3000e\u0301ﬁ"
        ),
    )
)


@pytest.mark.parametrize(
    ("settings", "given_text", "expected"),
    [
        ({}, "plain", "plain"),
        ({}, "", ""),
        ({}, "  a \t b\u2028c\u3000", "a b c"),
        ({}, "e\u0301", "é"),
        ({}, "ﬁ", "ﬁ"),
        ({"unicode": "NFKC"}, "ﬁ\u00a8", "fi \u0308"),
        ({"unicode": "none"}, "e\u0301", "e\u0301"),
        ({"spaces": "keep"}, " a  b\n", " a  b\n"),
        ({}, "a\x00b\x7fc", "abc"),
        ({"control": "keep"}, "a\x00b", "a\x00b"),
        ({}, "a\u200bb\ufeff\u00ad", "ab"),
        ({"zero_width": "keep"}, "a\u200bb", "a\u200bb"),
        ({}, "\u202eabc\u200f", "abc"),
        ({"bidi": "keep"}, "\u202eabc", "\u202eabc"),
        ({}, "👩\u200d🚀 क्\u200dष", "👩\u200d🚀 क्\u200dष"),
        ({}, "MiXeD Case", "MiXeD Case"),
        ({}, "a \u200b b", "a b"),
        ({}, "e\u200b\u0301", "é"),
    ],
)
def test_each_setting(settings, given_text, expected):
    assert Normalizer(Normalization(**settings))(given_text) == expected


@pytest.mark.parametrize(
    ("settings", "text", "named"),
    [
        ({"control": "refuse"}, "ab\x07c", "U+0007"),
        ({"zero_width": "refuse"}, "\u200b", "U+200B (zero width space)"),
        ({"bidi": "refuse"}, "x\u202e", "U+202E (right-to-left override)"),
        ({}, "a\ud800", "U+D800 (a lone surrogate)"),
        (
            {"unicode": "none", "spaces": "keep", "control": "keep", "zero_width": "keep", "bidi": "keep"},
            "\udfff",
            "DFFF",
        ),
    ],
)
def test_what_is_refused_is_named_with_its_place(settings, text, named):
    with pytest.raises(TextError) as caught:
        Normalizer(Normalization(**settings))(text)
    assert named in str(caught.value)
    position = next(i for i, c in enumerate(text) if f"{ord(c):04X}" in str(caught.value))
    assert caught.value.place == f"character {position + 1}"


@given(SETTINGS, AWKWARD)
def test_twice_changes_nothing_more(settings, text):
    normalizer = Normalizer(settings)
    once = normalizer(text)
    assert normalizer(once) == once


@given(SETTINGS, st.lists(st.one_of(AWKWARD, st.sampled_from(["", "a b", "é", " a", "a ", "a\nb"])), max_size=60))
def test_many_at_once_equals_one_by_one(settings, texts):
    normalizer = Normalizer(settings)
    assert normalizer.all(texts) == [normalizer(text) for text in texts]


def test_nothing_printable_is_stripped_or_refused_or_an_odd_space():
    printable = "".join(filter(str.isprintable, map(chr, range(0x110000)))).replace(" ", "")
    for treatment in ("strip", "refuse"):
        settings = Normalization(unicode="none", control=treatment, zero_width=treatment, bidi=treatment)
        normalizer = Normalizer(settings)
        assert normalizer._noteworthy.search(printable) is None


@given(AWKWARD)
def test_agrees_with_a_slow_twin(text):
    """One character at a time, as the settings say it in words."""

    def unwanted(c: str) -> bool:
        joiner = c in "\u200c\u200d"
        category = unicodedata.category(c)
        control = category == "Cc" and not c.isspace()
        interlinear = "\ufff9" <= c <= "\ufffb"
        zero_width = c in "\u00ad\u180e\u200b\u2060\u2061\u2062\u2063\u2064\ufeff"
        return not joiner and (
            control
            or interlinear
            or zero_width
            or unicodedata.bidirectional(c) in _DIRECTIONS
            or c in "\u200e\u200f\u061c"
        )

    kept = "".join(c for c in text if not unwanted(c))
    assert Normalizer(Normalization())(text) == " ".join(unicodedata.normalize("NFC", kept).split())


_DIRECTIONS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
