import pytest

from dragoman.data import fingerprints
from dragoman.data.clean import Cleaner, CleanSettings, Tally, Verdict
from dragoman.data.corpus import Pair, TextFiles, build
from dragoman.errors import SettingError
from dragoman.settings import fields

PAIRS = [
    ("A good pair.", "Une bonne paire."),
    ("Same.", "same."),
    ("I have 3 cats.", "J'ai 4 chats."),
    ("word " * 300, "mot " * 300),
    ("word " * 30, "mot " * 3),
    ("Go to {place}.", "Va."),
    ("A good pair.", "Une bonne paire."),
    ("Another.", "Une autre."),
]


ENGLISH_FRENCH = ("This has certainly not been written in French.", "Ceci est bien du français.")


def pairs(sides):
    return [Pair(source, target, "file", i) for i, (source, target) in enumerate(sides, 1)]


def test_every_pair_keeps_the_first_reason_against_it():
    verdicts = list(Cleaner(CleanSettings()).judge(pairs(PAIRS)))
    assert [v.reason for v in verdicts] == [
        None,
        "identical sides",
        "numbers differ",
        "too long",
        "lengths too different",
        "placeholders differ",
        "duplicate",
        None,
    ]
    assert [v.pair for v in verdicts] == pairs(PAIRS)


def test_every_filter_can_be_turned_off():
    lenient = CleanSettings(
        max_length=1000, max_ratio=1000.0, identical=False, numbers=False, placeholders=False, duplicates="keep"
    )
    assert all(v.reason is None for v in Cleaner(lenient).judge(pairs(PAIRS)))


@pytest.mark.parametrize(
    ("settings", "sides", "reason"),
    [
        ({"min_length": 2}, ("one", "deux mots"), "too short"),
        ({"min_length": 2}, ("two words", "un"), "too short"),
        ({"source_script": ("Cyrillic",)}, ("latin", "autre"), "wrong script"),
        ({"target_script": ("Cyrillic",)}, ("latin", "autre"), "wrong script"),
        ({"target_script": ("Han", "Latin")}, ("latin", "漢 autre"), None),
        (
            {"source_language": "fr"},
            ENGLISH_FRENCH,
            "wrong language",
        ),
        (
            {"target_language": "fr"},
            ENGLISH_FRENCH,
            None,
        ),
        ({"unit": "characters", "max_length": 5}, ("abcdef", "abc"), "too long"),
    ],
)
def test_settings_reach_their_filters(settings, sides, reason):
    (verdict,) = Cleaner(CleanSettings(**settings)).judge(pairs([sides]))
    assert verdict.reason == reason


def test_what_compares_sides_is_not_asked_of_targets_alone():
    cleaner = Cleaner(CleanSettings(min_length=2), targets_only=True)
    sides = [("", "two words 3 {x}"), ("", "one"), ("", "two words 3 {x}"), ("a/b.npy", "w " * 50)]
    assert [v.reason for v in cleaner.judge(pairs(sides))] == [None, "too short", "duplicate", None]


def test_only_what_is_kept_is_remembered():
    sides = [("a", "w " * 300), ("a", "b")]
    cleaner = Cleaner(CleanSettings(duplicates="sources"))
    assert [v.reason for v in cleaner.judge(pairs(sides))] == ["too long", None]


def test_a_full_memory_is_reported(monkeypatch):
    monkeypatch.setattr(fingerprints, "_FILL", 2 / (1 << 17))
    cleaner = Cleaner(CleanSettings(duplicate_memory=1))
    assert all(v.reason is None for v in cleaner.judge(pairs([(str(i), f"x{i}") for i in (1, 1, 2, 2, 3, 3)][::2])))
    assert cleaner.forgotten == 1


def test_a_tally_counts_and_keeps_the_first_examples():
    tally = Tally()
    for pair in pairs([("a", "b")] * 5):
        tally.add(Verdict(pair, "bad"))
    tally.add(Verdict(pairs([("c", "d")])[0], None))
    assert (tally.kept, tally.dropped) == (1, {"bad": 5})
    assert [pair.line for pair in tally.examples["bad"]] == [1, 2, 3]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"min_length": 9, "max_length": 8}, "max_length"),
        ({"source_script": ("latin",)}, "unknown script 'latin'. Close ones: Latin"),
        ({"max_ratio": 0.5}, "max_ratio"),
        ({"duplicate_memory": 0}, "duplicate_memory"),
    ],
)
def test_settings_that_make_no_sense(settings, words):
    with pytest.raises(SettingError, match=words):
        CleanSettings(**settings)


def test_every_setting_says_what_it_means():
    assert all(each.meaning for each in fields(CleanSettings))


def test_little_is_dropped_from_a_corpus_made_with_care(data_folder):
    folder = data_folder("multi30k") / "raw"
    corpus = build(TextFiles(source=str(folder / "train.en.gz"), target=str(folder / "train.fr.gz")))
    tally = Tally()
    for verdict in Cleaner(CleanSettings()).judge(corpus):
        tally.add(verdict)
    assert tally.dropped["duplicate"] == 5
    assert tally.dropped.total() < 60
