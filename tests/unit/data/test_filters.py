import time

import pytest

from dragoman.data import filters
from dragoman.data.corpus import Pair
from dragoman.data.fingerprints import Fingerprints
from dragoman.errors import MissingExtra, SettingError


def pair(source, target):
    return Pair(source, target, "file", 1)


@pytest.mark.parametrize(
    ("text", "unit", "reason"),
    [
        ("a", "words", "too short"),
        ("a b", "words", None),
        ("a b c d", "words", None),
        ("a b c d e", "words", "too long"),
        ("漢字", "words", "too short"),
        ("漢字", "characters", None),
        ("漢字漢字漢", "characters", "too long"),
    ],
)
def test_length(text, unit, reason):
    check = filters.length(unit=unit, least=2, most=4)
    assert check(text) == reason
    assert filters.on_source(check)(pair(text, "a b")) == reason
    assert filters.on_target(check)(pair("a b", text)) == reason


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("w " * 12, "w " * 4, None),
        ("w " * 13, "w " * 4, "lengths too different"),
        ("w " * 4, "w " * 13, "lengths too different"),
        ("w", "w " * 8, None),
        ("w", "w " * 9, "lengths too different"),
    ],
)
def test_ratio(source, target, reason):
    assert filters.ratio(unit="words", most=3.0, beyond=8)(pair(source, target)) == reason


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [("Paris", "paris ", "identical sides"), ("Paris", "Paris", "identical sides"), ("London", "Londres", None)],
)
def test_identical(source, target, reason):
    assert filters.identical(pair(source, target)) == reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [("ab", None), ("ab жд", None), ("a ждц", "wrong script"), ("123 …", None), ("漢字", "wrong script")],
)
def test_script(text, reason):
    assert filters.script(frozenset({"Latin"}), least=0.5)(text) == reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Un homme est assis sur un banc devant la maison.", None),
        ("A man is sitting on a bench in front of the house.", "wrong language"),
        ("A man.", None),
    ],
)
def test_language(text, reason):
    assert filters.language("fr", likeliest=3, letters=20)(text) == reason


def test_an_unknown_language_is_refused():
    with pytest.raises(SettingError, match="unknown language 'xx'") as caught:
        filters.language("xx", likeliest=3, letters=20)
    assert " fr," in caught.value.remedy


def test_without_the_package_for_languages_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "py3langid", None)
    with pytest.raises(MissingExtra, match=r"dragoman\[data\]"):
        filters.language("fr", likeliest=3, letters=20)


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("on 3 May 2020", "le 3 mai 2020", None),
        ("May 3, 2020", "le 3 mai 2020", None),
        ("1,000.50", "1 000,50", None),
        ("12:30", "12h30", None),
        ("٣ cats", "3 chats", None),
        ("3 cats", "trois chats", None),
        ("3 cats", "4 chats", "numbers differ"),
        ("3 cats", "33 chats", "numbers differ"),
    ],
)
def test_numbers(source, target, reason):
    assert filters.numbers(pair(source, target)) == reason


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("See https://a.org/b.", "Voir https://a.org/b !", None),
        ("See https://a.org/b", "Voir", "placeholders differ"),
        ("me@a.org", "moi@a.org", "placeholders differ"),
        ("{n} of {m}", "{m}, {n}", None),
        ("{n} of {n}", "{n}", "placeholders differ"),
        ("%s and %(name)s", "%(name)s et %s", None),
        ("%d files", "%s fichiers", "placeholders differ"),
        ("<b>x</b>", "<b>y</b>", None),
        ("<b>x</b>", "<b>y", "placeholders differ"),
        ("2 < 3, 5 > 4, 50 %de", "non", None),
    ],
)
def test_placeholders(source, target, reason):
    assert filters.placeholders(pair(source, target)) == reason


@pytest.mark.parametrize("part", ["a", "a.", "{a", "<a", "<", "%(", "a@", "http://", "{", "w."])
def test_no_text_takes_placeholders_long(part):
    text = part * (100_000 // len(part)) + "@"
    started = time.monotonic()
    filters.placeholders(pair(text, "x"))
    assert time.monotonic() - started < 1


@pytest.mark.parametrize(
    ("of", "kept"),
    [
        ("pairs", [0, 1, 2, 4]),
        ("sources", [0, 2, 4]),
        ("targets", [0, 1, 4]),
        ("either", [0, 4]),
    ],
)
def test_duplicates(of, kept):
    pairs = [pair("a", "x"), pair("a", "y"), pair("b", "x"), pair("a", "x"), pair("c", "z")]
    check = filters.duplicates(of, seen=tuple(Fingerprints(mebibytes=1) for _ in range(2 if of == "either" else 1)))
    assert [i for i, each in enumerate(pairs) if check(each) is None] == kept


def test_sides_are_not_run_together_when_pairs_are_compared():
    check = filters.duplicates("pairs", seen=(Fingerprints(mebibytes=1),))
    assert check(pair("a b", "c")) is None
    assert check(pair("a", "b c")) is None
