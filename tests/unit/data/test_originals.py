"""From published files to a set: each way of making, and fetching whole sets from a server on this machine."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import random
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import files
from dragoman.data import catalog, originals
from dragoman.data.catalog import Entry, Original
from dragoman.data.download import Patience
from dragoman.errors import DownloadError, FileError, SettingError

QUICK = Patience(attempts=2, wait=0.001, silence=5.0)
TEXT = b"one line\nand another\n"


def original(data, *, path="data/a.txt", making="pack", names=("a.txt.gz",), known=True):
    digest = hashlib.sha256(data).hexdigest()
    return Original("who/what", path, len(data) if known else None, digest if known else None, making, names)


def entry(*published):
    return Entry("letters", "some letters", "MIT", "github.com/who/what", "", published)


def publish(mirror, path, data):
    target = mirror / "who" / "what" / "HEAD" / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)


def get(wanted, **options: object):
    return list(originals.get(wanted, patience=QUICK, **options))


def made(tmp_path, data, making, *names: str):
    (tmp_path / "published").write_bytes(data)
    folder = tmp_path / "made"
    folder.mkdir(exist_ok=True)
    originals.make(original(data, making=making, names=names), tmp_path / "published", folder)
    return [gzip.decompress((folder / name).read_bytes()) for name in names]


# ---- ways of making ----------------------------------------------------------------------------------------------


def test_packed(tmp_path):
    assert made(tmp_path, TEXT, "pack", "deep/a.txt.gz") == [TEXT]


def test_kept_byte_for_byte(tmp_path):
    packed = gzip.compress(TEXT, mtime=1234)
    assert made(tmp_path, packed, "keep", "deep/a.gz") == [TEXT]
    assert (tmp_path / "made" / "deep" / "a.gz").read_bytes() == packed


def test_cut_after_the_usual_number_of_lines(tmp_path):
    lines = [b"line %d\n" % n for n in range(18_805)]
    first, rest = made(tmp_path, b"".join(lines), "cut", "a.gz", "b.gz")
    assert first.splitlines(keepends=True) == lines[:17_000]
    assert rest.splitlines(keepends=True) == lines[17_000:]


def test_halved_row_by_row_with_the_header_in_both(tmp_path):
    rows = [b'0,"two\nlines, ""quoted""\n"\n', b"1,x\n", b'2,"y"\n', b"3,z"]
    even, odd = made(tmp_path, b"".join([b"n,text\n", *rows]), "halve", "a.gz", "b.gz")
    assert even == b"n,text\n" + rows[0] + rows[2]
    assert odd == b"n,text\n" + rows[1] + rows[3]


def archive(**members: bytes):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in members.items():
            packed.writestr(name.replace("__", "/"), data)
    return stream.getvalue()


def test_pairs_of_an_archive_are_split_and_nothing_else_is_unpacked(tmp_path):
    lines = "".join(f"sentence {n}.\tphrase {n} é.\tby somebody\n" for n in range(1_500))
    packed = archive(**{"fra.txt": lines.encode(), "_about.txt": b"about", "..__..__evil.sh": b"rm"})
    dev, train = made(tmp_path, packed, "pairs", "dev.tsv.gz", "train.tsv.gz")
    assert (dev.count(b"\n"), train.count(b"\n")) == (1_000, 500)
    assert sorted(map(bytes.decode, (dev + train).splitlines())) == sorted(
        line.rpartition("\t")[0] for line in lines.splitlines()
    )
    assert not list(tmp_path.rglob("*evil*"))


@pytest.mark.parametrize(
    "packed",
    [
        b"no archive at all",
        archive(**{"a.txt": b"no tab\n"}),
        archive(**{"a.txt": b"\xff\t\xff\n"}),
        archive(**{"a.txt": b"", "b.txt": b""}),
        archive(),
        archive(**{"a.txt": random.Random(0).randbytes(999)})[:-400],
    ],
)
def test_an_archive_that_is_not_what_it_was_is_refused(tmp_path, packed):
    with pytest.raises(DownloadError, match="the archive is not what it was"):
        made(tmp_path, packed, "pairs", "dev.tsv.gz", "train.tsv.gz")


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(originals, "_LARGEST_TEXT", 1000)
    with pytest.raises(DownloadError, match="a text of 2,000 bytes"):
        made(tmp_path, archive(**{"a.txt": b"a\tb\n" * 500}), "pairs", "dev.tsv.gz", "train.tsv.gz")


@given(
    st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("ABCDEFGH"))),
    st.integers(0, 6),
    st.randoms(use_true_random=False),
)
def test_no_sentence_of_dev_is_in_train_on_either_side(pairs, size, generator):
    dev, train = originals.split_pairs(pairs, size=size)
    for side in (0, 1):
        held = [pair[side] for pair in dev]
        assert len(set(held)) == len(held)
        assert not set(held) & {pair[side] for pair in train}
    assert len(dev) <= size
    assert len(dev) == size or not train  # dev stops short only when every other pair shares a side with it
    assert set(dev) | set(train) <= set(pairs)
    assert len(set(train)) == len(train)
    left = {p for p in pairs if p not in dev and p not in train}
    assert all(any(p[0] == d[0] or p[1] == d[1] for d in dev) for p in left)
    generator.shuffle(pairs)
    assert originals.split_pairs(pairs, size=size) == (dev, train)


# ---- whole sets --------------------------------------------------------------------------------------------------


def test_a_set_is_fetched_laid_out_and_found(mirror):
    publish(mirror, "data/a.txt", TEXT)
    publish(mirror, "b c.txt.gz", gzip.compress(b"b"))
    letters = entry(
        original(TEXT), original(gzip.compress(b"b"), path="b c.txt.gz", making="keep", names=("raw/b.gz",))
    )
    events = get(letters)
    assert {event.url.rpartition("/")[2] for event in events} == {"a.txt", "b%20c.txt.gz"}
    folder = catalog.cache_folder() / "letters"
    assert catalog.present(letters) == folder
    files.verify(folder)
    assert list(files.lines(folder / "a.txt.gz", longest=99)) == TEXT.splitlines()
    assert sorted(p.name for p in (catalog.cache_folder() / "partial").iterdir()) == ["letters.lock"]
    assert get(letters) == []


def test_a_damaged_copy_in_the_cache_is_fetched_again(mirror):
    publish(mirror, "data/a.txt", TEXT)
    letters = entry(original(TEXT))
    get(letters)
    packed = catalog.cache_folder() / "letters" / "a.txt.gz"
    before = packed.read_bytes()
    packed.write_bytes(before[:-1] + b"!")
    assert get(letters)
    assert packed.read_bytes() == before


def test_what_was_fetched_is_kept_when_a_later_file_fails(mirror):
    publish(mirror, "data/a.txt", TEXT)
    letters = entry(original(TEXT), original(b"b", path="b.txt", names=("b.txt.gz",)))
    with pytest.raises(DownloadError, match="not there any more"):
        get(letters)
    assert catalog.present(letters) is None
    (mirror / "who/what/HEAD/data/a.txt").unlink()
    publish(mirror, "b.txt", b"b")
    get(letters)
    files.verify(catalog.cache_folder() / "letters")


def test_a_set_goes_to_the_folder_that_is_named(mirror, tmp_path):
    publish(mirror, "data/a.txt", TEXT)
    get(entry(original(TEXT)), to=tmp_path / "mine")
    files.verify(tmp_path / "mine" / "letters")
    assert catalog.present(entry(original(TEXT))) is None
    assert get(entry(original(TEXT)), to=tmp_path / "mine") == []
    (tmp_path / "mine" / "letters" / "a.txt.gz").write_bytes(b"")
    with pytest.raises(FileError, match="is there already, and not a whole copy"):
        get(entry(original(TEXT)), to=tmp_path / "mine")


def test_a_local_copy_is_used_and_copied_unless_all_is_wanted(mirror, tmp_path, monkeypatch):
    letters = entry(original(TEXT), original(b"b", path="b.txt", names=("b.txt.gz",)))
    local = tmp_path / "local" / "letters"
    local.mkdir(parents=True)
    (local / "a.txt.gz").write_bytes(gzip.compress(TEXT))
    (local / "diary").write_bytes(b"private")
    monkeypatch.setenv("DRAGOMAN_DATA", str(local.parent))
    assert get(letters) == []
    assert not (catalog.cache_folder() / "letters").exists()
    get(letters, to=tmp_path / "mine")
    assert sorted(p.name for p in (tmp_path / "mine" / "letters").iterdir()) == ["a.txt.gz", "manifest.json"]
    publish(mirror, "data/a.txt", TEXT)
    publish(mirror, "b.txt", b"b")
    assert get(letters, whole=True)
    assert (catalog.cache_folder() / "letters" / "b.txt.gz").is_file()


def test_an_unknown_checksum_is_recorded_at_the_first_download(mirror, tmp_path):
    publish(mirror, "data/a.txt", TEXT)
    letters = entry(original(TEXT, known=False))
    get(letters)
    recorded = json.loads((catalog.cache_folder() / "checksums.json").read_text())
    digest = hashlib.sha256(TEXT).hexdigest()
    assert recorded == {"who/what/HEAD/data/a.txt": {"bytes": len(TEXT), "sha256": digest}}
    publish(mirror, "data/a.txt", TEXT.upper())
    with pytest.raises(DownloadError, match=f"should have {digest}"):
        get(letters, to=tmp_path / "again", whole=True)


def test_two_fetches_of_one_set_are_refused(mirror):
    lock = catalog.cache_folder() / "partial" / "letters.lock"
    with files.locked(lock, purpose="fetching letters"), pytest.raises(FileError, match="it is fetching letters"):
        get(entry(original(TEXT)))


def test_too_little_room_is_found_before_anything_is_fetched(mirror, monkeypatch):
    monkeypatch.setattr(files, "free_bytes", lambda _: 10)
    with pytest.raises(FileError, match=r"too full for letters: about 42 bytes needed, 10 free"):
        get(entry(original(TEXT)))


def test_a_mirror_is_on_the_web(mirror, monkeypatch):
    monkeypatch.setenv("DRAGOMAN_MIRROR", "/some/folder")
    with pytest.raises(SettingError, match="DRAGOMAN_DATA"):
        get(entry(original(TEXT)))
    monkeypatch.setenv("DRAGOMAN_MIRROR", "")
    assert originals.mirror() == originals.HOST
