"""Known data sets as pairs: every format that one is published in, and the splits that are made here."""

from __future__ import annotations

import gzip
import json

import pytest

from dragoman.data import catalog, known
from dragoman.data.corpus import Known, build
from dragoman.errors import DataError, DownloadError, SettingError

ACTS = [
    ["inform(name='the pie';area=north)", "the pie is in the north", "rules"],
    ["?request(food)", "what food", "rules"],
]
PUBLISHED = {
    "scan/tasks_train_addprim_jump.txt.gz": "IN: jump twice OUT: I_JUMP I_JUMP\nIN: walk OUT: I_WALK\n",
    "scan/tasks_test_length.txt.gz": "IN: jump\n",
    "sigmorphon2016/turkish.dev.tsv.gz": "ab di\tpos=N,num=PL\tabdiler\n",
    "sigmorphon2016/german.dev.tsv.gz": "ab\tpos=N\n",
    "geoquery/geo_train.tsv.gz": "what ?\t_answer ( A )\n",
    "rnnlg/tv.valid.json.gz": "# a header\n" + json.dumps(ACTS, indent=1),
    "rnnlg/tv.train.json.gz": "# a header\n[1]",
    "tatoeba-en-fr/dev.tsv.gz": "yes\toui\n",
    "multi30k/tok/val.lc.norm.tok.en.gz": "a pie\n",
    "multi30k/tok/val.lc.norm.tok.de.gz": "eine torte\n",
    "django-pseudocode/anno.txt.gz": "".join(f"line {n}\n" for n in range(16_002)),
    "django-pseudocode/code.txt.gz": "".join(f"code{n}\n" for n in range(16_002)),
    **{f"g2p-sigmorphon2020/dev/{each}_dev.tsv.gz": f"pie\tp {each}\n" for each in known.SPELT},
    **{f"g2p-sigmorphon2020/train/{each}_train.tsv.gz": "pie\n" for each in known.SPELT},
    "g2p-cmudict/cmudict.train.tsv.gz": "".join(f"W{n}\tW AH {n}\nW{n}\tW OW {n}\n" for n in range(300)),
}


@pytest.fixture(autouse=True)
def sets(tmp_path, monkeypatch):
    for name, text in PUBLISHED.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()))
    monkeypatch.setenv("DRAGOMAN_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def read(name, part):
    return [(pair.source, pair.target) for pair in build(Known(set=name, part=part))]


@pytest.mark.parametrize(
    ("name", "part", "pairs"),
    [
        ("scan", "jump.train", [("jump twice", "I_JUMP I_JUMP"), ("walk", "I_WALK")]),
        ("sigmorphon2016", "turkish.dev", [("pos=N num=PL a b _ d i", "abdiler")]),
        ("geoquery", "train", [("what ?", "_answer ( A )")]),
        (
            "rnnlg",
            "tv.valid",
            [
                ("inform ( name = the pie ; area = north )", "the pie is in the north"),
                ("?request ( food )", "what food"),
            ],
        ),
        ("tatoeba-en-fr", "en-fr.dev", [("yes", "oui")]),
        ("tatoeba-en-fr", "fr-en.dev", [("oui", "yes")]),
        ("multi30k", "tok.de-en.valid", [("eine torte", "a pie")]),
    ],
)
def test_what_is_in_a_part(name, part, pairs):
    assert read(name, part) == pairs


def test_lines_of_python_are_cut_where_others_cut_them():
    assert read("django-pseudocode", "train")[-1] == ("line 15999", "code15999")
    assert read("django-pseudocode", "dev") == [("line 16000", "code16000"), ("line 16001", "code16001")]


def test_a_word_of_the_dictionary_is_held_out_with_all_its_sounds():
    train, dev = read("g2p-cmudict", "train"), read("g2p-cmudict", "dev")
    assert len(train) + len(dev) == 600
    assert 2 <= len(dev) <= 30
    assert not {word for word, _ in train} & {word for word, _ in dev}
    assert len({word for word, _ in dev}) == len(dev) / 2


def test_a_word_may_be_asked_whose_it_is():
    assert read("g2p-sigmorphon2020", "language.dev") == [("pie", language) for language in known.SPELT]
    with pytest.raises(DataError, match=r"wrong number of columns: 1 where 2 are expected, in .*ady_train"):
        read("g2p-sigmorphon2020", "language.train")


def test_every_file_of_a_part_is_one_that_the_catalogue_knows():
    for name in known.known_sets():
        files = set(catalog.find(name).files)
        for part in known.parts(name).values():
            assert set(part.files) <= files


@pytest.mark.parametrize(
    ("name", "part", "problem"),
    [
        ("scam", "x", "set: there is no data set 'scam'.* Did you mean 'scan'"),
        ("winomt", "x", "Known here: django-pseudocode, g2p-cmudict"),
        ("scan", "jump.dev", "part: scan has no part 'jump.dev'.* It has jump.test, jump.train"),
        ("geoquery", "zzz", "part: .* It has train, dev, test"),
    ],
)
def test_names_that_are_not_known(name, part, problem):
    with pytest.raises(SettingError, match=problem):
        Known(set=name, part=part)


def test_what_is_not_here_or_not_what_it_was():
    with pytest.raises(DownloadError, match=r"leaves the file out .*data get geoquery --whole|leaves the file out"):
        read("geoquery", "test")
    with pytest.raises(DataError, match=r"tasks_test_length.*:1: missing field: not of the form `IN: … OUT: …`"):
        read("scan", "length.test")
    with pytest.raises(DataError, match=r"german.dev.*:1: wrong number of columns: 2 where 3 are expected"):
        read("sigmorphon2016", "german.dev")
    with pytest.raises(DownloadError, match=r"not the JSON that it was.*Fetch the data set again"):
        read("rnnlg", "tv.train")
