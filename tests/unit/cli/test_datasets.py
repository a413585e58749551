"""`dragoman data list` and `dragoman data get`, as they are typed."""

from __future__ import annotations

import functools
import gzip
import hashlib
import json
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner

from dragoman import files
from dragoman.cli import datasets
from dragoman.data import catalog, phrasebook
from dragoman.data.catalog import Entry, Original
from dragoman.data.download import Progress
from dragoman.errors import DownloadError, SettingError

TEXT = b"a line\n" * 5000


@pytest.fixture
def published(mirror, monkeypatch):
    """A catalogue of one set, which is published on the server of this machine."""
    target = mirror / "who" / "what" / "HEAD" / "a.txt"
    target.parent.mkdir(parents=True)
    target.write_bytes(TEXT)
    original = Original("who/what", "a.txt", len(TEXT), hashlib.sha256(TEXT).hexdigest(), "pack", ("a.txt.gz",))
    letters = Entry("letters", "some letters", "MIT", "github.com/who/what", "Mind the gap.", (original,))
    monkeypatch.setattr(catalog, "entries", lambda: (letters,))
    return target


def run(command, *arguments: str):
    done = CliRunner().invoke(command, arguments)
    if done.exception is not None:
        raise done.exception
    return done


def test_the_list_shows_what_is_here(published):
    before, *_ = json.loads(run(datasets.list_, "--json").stdout)
    assert (before["name"], before["bytes"], before["files"]) == ("letters", len(TEXT), ["a.txt.gz"])
    assert before["folder"] is None
    assert "letters  0.1 MB  no    MIT      some letters" in run(datasets.list_).stdout
    run(datasets.get, "letters")
    after, *_ = json.loads(run(datasets.list_, "--json").stdout)
    assert after["folder"] == str(catalog.cache_folder() / "letters")
    assert "letters  0.1 MB  yes" in run(datasets.list_).stdout


def test_the_real_list_has_every_set(mirror):
    text = run(datasets.list_).stdout
    for entry in catalog.entries():
        assert entry.name in text
        assert entry.licence in text
    assert "built in" in text


def test_get_prints_the_folder_and_nothing_else_to_standard_output(published):
    done = run(datasets.get, "letter")
    folder = catalog.cache_folder() / "letters"
    assert done.stdout == f"{folder}\n"
    assert gzip.decompress((folder / "a.txt.gz").read_bytes()) == TEXT
    assert "Licence: MIT. Source: github.com/who/what." in done.stderr
    assert "Mind the gap." in done.stderr
    assert catalog.locate("letters") == folder
    published.unlink()
    assert run(datasets.get, "letters").stdout == f"{folder}\n"


def test_get_to_a_folder(published, tmp_path):
    done = run(datasets.get, "letters", "--to", str(tmp_path / "mine"), "--json")
    answer = json.loads(done.stdout)
    assert answer["folder"] == str(tmp_path / "mine" / "letters")
    assert answer["files"] == ["a.txt.gz", "manifest.json"]
    with pytest.raises(DownloadError, match="dragoman data get letters"):
        catalog.locate("letters")


def test_get_uses_a_local_copy_unless_all_is_wanted(published, tmp_path, monkeypatch):
    local = tmp_path / "local" / "letters"
    local.mkdir(parents=True)
    (local / "a.txt.gz").write_bytes(b"x")
    monkeypatch.setenv("DRAGOMAN_DATA", str(local.parent))
    assert run(datasets.get, "letters").stdout == f"{local}\n"
    assert run(datasets.get, "letters", "--whole").stdout == f"{catalog.cache_folder() / 'letters'}\n"


def test_the_parts_of_a_set_are_written_as_lines(tmp_path, monkeypatch):
    (tmp_path / "geoquery").mkdir()
    (tmp_path / "geoquery" / "geo_dev.tsv.gz").write_bytes(gzip.compress(b"what ?\t_answer\nwhere ?\t_place\n"))
    monkeypatch.setenv("DRAGOMAN_DATA", str(tmp_path))
    done = run(datasets.get, "geoquery", "--pairs", str(tmp_path / "out"), "--json")
    assert json.loads(done.stdout)["parts"] == {"dev": 2}
    assert (tmp_path / "out" / "dev.source").read_text() == "what ?\nwhere ?\n"
    assert f"dev: 2 lines in {tmp_path / 'out' / 'dev.source'}" in done.stderr
    with pytest.raises(SettingError, match=r"no data set 'winomt' that is read by its name"):
        run(datasets.get, "winomt", "--pairs", str(tmp_path / "out"))


def test_get_of_an_unknown_set(published):
    with pytest.raises(DownloadError, match="Did you mean 'letters'"):
        run(datasets.get, "leters")


def test_ticks_are_kibibytes_and_what_comes_twice_counts_once():
    events = [Progress("a", 1000, None), Progress("a", 3000, None), Progress("a", 500, None), Progress("b", 1096, None)]
    assert len(list(datasets._kibibytes(events))) == 4


def test_the_commands_have_their_names():
    assert datasets.list_.name == "list"
    assert datasets.get.name == "get"
    assert isinstance(datasets.get, click.Command)
    assert Path(datasets.__file__).name == "datasets.py"


def test_the_phrasebook_is_written_with_its_alignments(mirror, tmp_path, monkeypatch):
    phrases = [
        SimpleNamespace(english="I'm here.", french="Je suis là.", alignment=((0, 0), (0, 1), (1, 2), (2, 3))),
        SimpleNamespace(english="Drink the water.", french="Buvez l'eau.", alignment=((0, 0), (1, 1), (2, 2), (3, 3))),
    ]
    splits = SimpleNamespace(train=phrases, dev=phrases[:1], test=phrases[1:])
    monkeypatch.setattr(phrasebook, "splits", lambda: splits, raising=False)
    folder = Path(run(datasets.get, "phrasebook", "--to", str(tmp_path)).stdout.strip())
    texts = {p.name: p.read_text() for p in folder.iterdir()}
    assert texts["train.en"] == "I'm here.\nDrink the water.\n"
    assert texts["test.fr"] == "Buvez l'eau.\n"
    assert texts["dev.words.en"] == "I'm here .\n"
    assert texts["test.words.fr"] == "Buvez l' eau .\n"
    assert texts["train.align"] == "0-0 0-1 1-2 2-3\n0-0 1-1 2-2 3-3\n"
    assert len(texts) == 3 * 5 + 1
    files.verify(folder)


def test_the_real_phrasebook_can_be_written(mirror, tmp_path, monkeypatch):
    small = functools.partial(phrasebook.splits, train=300, dev=20, test=20)
    monkeypatch.setattr(phrasebook, "splits", small)
    splits = small()
    folder = Path(run(datasets.get, "phrasebook", "--to", str(tmp_path)).stdout.strip())
    for part, phrases in (("train", splits.train), ("dev", splits.dev), ("test", splits.test)):
        english, french = ((folder / f"{part}.words.{side}").read_text().splitlines() for side in ("en", "fr"))
        links = (folder / f"{part}.align").read_text().splitlines()
        for row, phrase in enumerate(phrases):
            found = [tuple(map(int, link.split("-"))) for link in links[row].split()]
            assert found == list(phrase.alignment)
            assert max(i for i, _ in found) < len(english[row].split(" "))
            assert max(j for _, j in found) < len(french[row].split(" "))
