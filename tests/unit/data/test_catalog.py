"""The catalogue: its facts, finding a set by name, and where sets are looked for."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import sys
from pathlib import Path

import pytest

from dragoman import files
from dragoman.data import catalog
from dragoman.errors import DownloadError


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with an empty cache and no local copies."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("DRAGOMAN_DATA", raising=False)
    return tmp_path


def in_cache(name, inner="x"):
    with files.new_folder(catalog.cache_folder() / name) as fresh:
        (fresh / inner).write_bytes(b"contents")
    return catalog.cache_folder() / name


# ---- the facts ---------------------------------------------------------------------------------------------------


def test_the_sets_that_are_promised_are_known():
    assert {entry.name for entry in catalog.entries()} == {
        "phrasebook",
        "multi30k",
        "tatoeba-en-fr",
        "g2p-cmudict",
        "g2p-sigmorphon2020",
        "sigmorphon2016",
        "scan",
        "django-pseudocode",
        "geoquery",
        "rnnlg",
        "winomt",
        "hallucinations-de-en",
        "numerals",
    }
    assert [entry.name for entry in catalog.entries() if entry.built_in] == ["phrasebook", "numerals"]


@pytest.mark.parametrize("entry", catalog.entries(), ids=lambda e: e.name)
def test_every_set_is_described_and_its_files_are_distinct_and_stay_inside(entry):
    assert entry.title
    assert entry.licence
    assert entry.source
    assert len(set(entry.files)) == len(entry.files)
    for name in (*entry.files, *(o.path for o in entry.originals)):
        assert not Path(name).is_absolute()
        assert ".." not in Path(name).parts
    for original in entry.originals:
        assert entry.source == f"github.com/{original.repository}"
        assert re.fullmatch(r"[0-9a-f]{64}", original.sha256 or "0" * 64)
        assert original.bytes is None or original.bytes > 0


def test_no_fact_differs_from_the_published_list():
    root = os.environ.get("DRAGOMAN_DATA", "")
    if not (Path(root) / "sources.tsv").is_file():
        pytest.skip("needs sources.tsv, the list of published files: DRAGOMAN_DATA has none")
    published = set()
    for line in (Path(root) / "sources.tsv").read_text().splitlines()[1:]:
        name, repository, path, size, digest = line.split("\t")
        published.add((name, repository.removeprefix("github "), path, int(size), digest))
    ours = {(e.name, o.repository, o.path, o.bytes, o.sha256) for e in catalog.entries() for o in e.originals}
    assert ours <= published
    assert all(path.endswith("-covered") for _, _, path, _, _ in published - ours)  # test sets without the answers


def test_a_local_copy_is_laid_out_as_the_catalogue_says(data_folder):
    for entry in catalog.entries():
        if entry.built_in:
            continue
        folder = data_folder(entry.name)
        found = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
        assert found
        assert found <= set(entry.files)


def test_files_of_a_local_copy_are_the_published_ones(data_folder):
    for entry in catalog.entries():
        for original in entry.originals:
            path = data_folder(entry.name) / original.files[0]
            if original.making in ("keep", "pack") and path.is_file():
                data = path.read_bytes()
                data = data if original.making == "keep" else gzip.decompress(data)
                assert (len(data), hashlib.sha256(data).hexdigest()) == (original.bytes, original.sha256), path


# ---- names -------------------------------------------------------------------------------------------------------


def test_a_part_of_a_name_will_do_when_it_is_the_only_one():
    assert catalog.find("multi30k").name == "multi30k"
    assert catalog.find("cmudict").name == "g2p-cmudict"
    assert catalog.find("tatoeba").name == "tatoeba-en-fr"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("multi30", None),
        ("multy30k", "there is no data set 'multy30k'. Did you mean 'multi30k'?"),
        ("sigmorphon", "'sigmorphon' may be g2p-sigmorphon2020 or sigmorphon2016"),
        ("zzz", "Known here: phrasebook, multi30k"),
        ("", "there is no data set ''"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(name, said):
    if said is None:
        assert catalog.find(name).name == "multi30k"
        return
    with pytest.raises(DownloadError) as caught:
        catalog.find(name)
    assert said in str(caught.value)


# ---- places ------------------------------------------------------------------------------------------------------


def test_the_cache_follows_the_customs_of_the_system(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert catalog.cache_folder() == tmp_path / "dragoman"
    monkeypatch.setenv("HOME", "/home/ada")
    for nothing in ("", "relative/path"):
        monkeypatch.setenv("XDG_CACHE_HOME", nothing)
        monkeypatch.setattr(sys, "platform", "linux")
        assert catalog.cache_folder() == Path("/home/ada/.cache/dragoman")
        monkeypatch.setattr(sys, "platform", "darwin")
        assert catalog.cache_folder() == Path("/home/ada/Library/Caches/dragoman")


def test_a_missing_set_is_reported_with_the_command_that_fetches_it(machine):
    with pytest.raises(DownloadError, match="dragoman data get scan") as caught:
        catalog.locate("scan")
    assert str(catalog.cache_folder()) in str(caught.value)


def test_a_local_copy_comes_before_the_cache(machine, monkeypatch):
    cached = in_cache("scan")
    assert catalog.locate("scan") == cached
    local = machine / "local"
    (local / "scan").mkdir(parents=True)
    monkeypatch.setenv("DRAGOMAN_DATA", str(local))
    assert catalog.locate("scan") == cached  # an empty folder is no copy
    (local / "scan" / "tasks_test_simple.txt.gz").write_bytes(b"x")
    assert catalog.locate("scan") == local / "scan"
    assert catalog.files("scan") == (local / "scan" / "tasks_test_simple.txt.gz",)
    assert catalog.file("scan", "tasks_test_simple.txt.gz").is_file()
    with pytest.raises(DownloadError, match="leaves the file out"):
        catalog.file("scan", "tasks_train_simple.txt.gz")


def test_a_damaged_copy_in_the_cache_is_refused(machine):
    cached = in_cache("scan")
    assert catalog.files("scan") == (cached / "x",)
    (cached / "x").write_bytes(b"cut")
    with pytest.raises(DownloadError, match="dragoman data get scan"):
        catalog.locate("scan")
