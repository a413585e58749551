"""Atomic writes, folders with a manifest, and text streams. Kills and faults of the disk: test_files_faults.py."""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
import lzma
import os
import random
import shutil
import stat
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import files
from dragoman.errors import FileError, MissingExtra

ENDINGS = ["", ".gz", ".xz", ".bz2", ".zst"]
PACKED = ENDINGS[1:]
TEXT = "".join(f"line {n} é 漢字 {n * n}\n" for n in range(500)).encode()


def need(ending):
    if ending == ".zst":
        pytest.importorskip("zstandard", reason="needs the package zstandard")


def names(folder):
    return sorted(p.name for p in folder.iterdir())


# ---- writing a file ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_written_is_read_back(tmp_path, ending):
    need(ending)
    path = tmp_path / "deep" / f"a{ending}"
    files.write_atomically(path, TEXT)
    with files.reading(path) as stream:
        assert stream.read() == TEXT
    assert list(files.lines(path, longest=100)) == TEXT.splitlines()
    assert names(path.parent) == [path.name]
    assert (path.read_bytes() == TEXT) == (ending == "")


def test_gzip_files_of_the_same_text_are_the_same_bytes(tmp_path):
    for name in ("a.gz", "b.gz"):
        files.write_atomically(tmp_path / name, TEXT)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_block_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(error), files.replacing(path) as stream:  # noqa: PT012 - the block is what is tested
        stream.write(b"new")
        raise error
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


def test_the_permissions_of_a_new_file_follow_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        files.write_atomically(tmp_path / "a", b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_a_device_is_written_to_and_not_replaced():
    files.write_atomically(Path("/dev/null"), b"x")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_what_a_dead_writer_left_is_removed_and_what_a_live_one_writes_is_kept(tmp_path):
    path = tmp_path / "a"
    (tmp_path / ".a.0123abcd.tmp").write_bytes(b"abandoned")
    (tmp_path / ".a.notes.tmp").write_bytes(b"somebody else's")
    with files.replacing(path) as slow:
        slow.write(b"slow")
        files.write_atomically(path, b"quick")
        assert path.read_bytes() == b"quick"
    assert path.read_bytes() == b"slow"
    assert names(tmp_path) == [".a.notes.tmp", "a"]


def test_writers_at_once_leave_one_whole_file(tmp_path):
    path = tmp_path / "a"
    contents = [bytes([65 + n]) * 50_000 for n in range(8)]
    threads = [threading.Thread(target=files.write_atomically, args=(path, c)) for c in contents for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() in contents
    assert names(tmp_path) == ["a"]


def test_a_file_that_is_being_removed_as_abandoned_is_left_to_its_remover(tmp_path, monkeypatch):
    taken, lock = [], files._lock

    def lock_after_another_writer(descriptor, **waiting):
        if not taken:  # the moment between the making of a file and its lock
            taken.append(next(tmp_path.glob(".a.*.tmp")).open("rb"))
            assert lock(taken[0].fileno())
        return lock(descriptor, **waiting)

    monkeypatch.setattr(files, "_lock", lock_after_another_writer)
    with files.replacing(tmp_path / "a") as stream:
        stream.write(b"whole")
        with taken[0] as removing:
            Path(removing.name).unlink()
    assert (tmp_path / "a").read_bytes() == b"whole"
    assert names(tmp_path) == ["a"]


def test_a_folder_in_the_way_is_named(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(FileError, match="Name a file, not a folder") as caught:
        files.write_atomically(tmp_path / "a", b"x")
    assert caught.value.place == str(tmp_path / "a")


def test_a_lock_is_held_by_one(tmp_path):
    lock = tmp_path / "deep" / "lock"
    with (
        files.locked(lock, purpose="training"),
        pytest.raises(FileError, match=r"it is training\. Wait for it"),
        files.locked(lock, purpose="training"),
    ):
        pass
    with files.locked(lock, purpose="training"):
        pass


def test_a_lock_can_be_waited_for(tmp_path):
    lock, order = tmp_path / "run.lock", []

    def second():
        with files.locked(lock, purpose="training", wait=True):
            order.append("second")

    with files.locked(lock, purpose="training"):
        waiting = threading.Thread(target=second)
        waiting.start()
        waiting.join(0.1)
        order.append("first")
    waiting.join(10)
    assert order == ["first", "second"]


def test_a_file_is_gone_on_from_any_of_its_bytes(tmp_path):
    path = tmp_path / "deep" / "a"
    with files.continuing(path, at=0) as stream:
        stream.write(b"0123456789")
    with pytest.raises(ValueError, match="no"), files.continuing(path, at=4) as stream:  # noqa: PT012 - as above
        stream.write(b"AB")
        raise ValueError("no")
    assert path.read_bytes() == b"0123AB"
    with files.continuing(path, at=0) as stream:
        stream.write(b"x")
    assert path.read_bytes() == b"x"
    with pytest.raises(FileError), files.continuing(tmp_path / "nowhere", at=3):
        pass


def test_free_bytes_are_those_of_the_nearest_folder_that_is_there(tmp_path, monkeypatch):
    asked = []

    def usage(path):
        asked.append(path)
        if not path.exists():
            raise FileNotFoundError(path)
        return SimpleNamespace(free=42)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    assert files.free_bytes(tmp_path / "not" / "yet") == 42
    assert asked == [tmp_path / "not" / "yet", tmp_path / "not", tmp_path]


# ---- folders -----------------------------------------------------------------------------------------------------


def write_folder(path):
    with files.new_folder(path) as fresh:
        (fresh / "weights").write_bytes(random.Random(0).randbytes(20_000))
        (fresh / "inner").mkdir()
        (fresh / "inner" / "state.json").write_bytes(b'{"step": 1200, "cursor": 77}')
    return path


def test_a_folder_appears_whole_and_verified(tmp_path):
    path = write_folder(tmp_path / "runs" / "step-1")
    files.verify(path)
    files.verify(path, contents=False)
    assert names(path) == ["inner", "manifest.json", "weights"]
    assert names(path.parent) == ["step-1"]


def test_a_folder_whose_block_fails_does_not_appear(tmp_path):
    with pytest.raises(ValueError, match="no"), files.new_folder(tmp_path / "a") as fresh:  # noqa: PT012 - as above
        (fresh / "x").write_bytes(b"x")
        raise ValueError("no")
    assert names(tmp_path) == []


def test_a_folder_that_exists_is_not_written_over(tmp_path):
    path = write_folder(tmp_path / "a")
    with pytest.raises(FileError, match="already exists"):
        write_folder(path)
    files.verify(path)


def test_what_a_killed_writer_left_of_a_folder_is_removed(tmp_path):
    (tmp_path / "a.tmp").mkdir()
    (tmp_path / "a.tmp" / "half").write_bytes(b"half")
    files.verify(write_folder(tmp_path / "a"))
    assert names(tmp_path) == ["a"]


def test_a_fault_inside_a_folder_names_the_folder(tmp_path, monkeypatch):
    (tmp_path / "a.tmp").mkdir()

    def fail(_path):
        raise OSError(5, "Input/output error", "weights")  # as a fault at a name relative to an open folder looks

    monkeypatch.setattr(shutil, "rmtree", fail)
    with pytest.raises(FileError, match="Input/output error") as caught:
        write_folder(tmp_path / "a")
    assert caught.value.place == str(tmp_path / "a")


def test_two_writers_of_one_folder_are_refused(tmp_path):
    with files.new_folder(tmp_path / "a") as fresh:
        (fresh / "x").write_bytes(b"x")
        with pytest.raises(FileError, match="another process is writing"):
            write_folder(tmp_path / "a")
    files.verify(tmp_path / "a")


def damage(path, how, generator):
    """Change a file in one of the ways in which disks and copies go wrong; say whether it is another file now."""
    before = path.read_bytes()
    data = bytearray(before)
    match how:
        case "flip":
            data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
        case "zero":
            start = generator.randrange(len(data))
            length = min(generator.choice([1, 512, 4096]), len(data) - start)
            data[start : start + length] = bytes(length)
        case "truncate":
            del data[generator.randrange(len(data)) :]
        case "swap":
            length = generator.randrange(1, len(data) // 2)
            start = generator.randrange(len(data) - 2 * length + 1)
            middle, end = start + length, start + 2 * length
            data[start:middle], data[middle:end] = data[middle:end], data[start:middle]
        case _:
            path.unlink()
            return True
    path.write_bytes(data)
    return bytes(data) != before


@pytest.mark.parametrize("times", [100, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("how", ["flip", "zero", "truncate", "swap", "delete"])
def test_every_damage_is_found(tmp_path, how, times):
    whole = write_folder(tmp_path / "whole")
    inside = [p.relative_to(whole) for p in whole.rglob("*") if p.is_file()]
    assert len(inside) == 3
    generator = random.Random(7)
    copy = tmp_path / "copy"
    shutil.copytree(whole, copy)
    for name in inside:
        original = (copy / name).read_bytes()
        changed = 0
        while changed < (1 if how == "delete" else times):
            if damage(copy / name, how, generator):
                changed += 1
                with pytest.raises(FileError, match="The folder is damaged or incomplete"):
                    files.verify(copy)
            (copy / name).write_bytes(original)
    files.verify(copy)


def test_files_swapped_with_each_other_are_found(tmp_path):
    with files.new_folder(tmp_path / "a") as fresh:
        (fresh / "one").write_bytes(b"1" * 100)
        (fresh / "two").write_bytes(b"2" * 100)
    (tmp_path / "a" / "one").rename(tmp_path / "a" / "three")
    (tmp_path / "a" / "two").rename(tmp_path / "a" / "one")
    (tmp_path / "a" / "three").rename(tmp_path / "a" / "two")
    files.verify(tmp_path / "a", contents=False)
    with pytest.raises(FileError, match="SHA-256 differs"):
        files.verify(tmp_path / "a")


def test_what_does_not_belong_is_found(tmp_path):
    path = write_folder(tmp_path / "a")
    (path / "inner" / "more").write_bytes(b"")
    with pytest.raises(FileError, match="not in the manifest"):
        files.verify(path)


@pytest.mark.parametrize("target", ["file", "folder", "nothing"])
def test_links_are_refused(tmp_path, target):
    path = write_folder(tmp_path / "a")
    (tmp_path / "folder").mkdir()
    shutil.copy(path / "weights", tmp_path / "file")
    (path / "weights").unlink()
    (path / "weights").symlink_to(tmp_path / target)
    with pytest.raises(FileError, match="not the file of"):
        files.verify(path)
    (path / "weights").unlink()
    shutil.copy(tmp_path / "file", path / "weights")
    files.verify(path)
    (path / "more").symlink_to(tmp_path / target)
    with pytest.raises(FileError, match="not in the manifest"):
        files.verify(path)


def test_a_link_is_not_written_into_a_folder_either(tmp_path):
    with pytest.raises(FileError, match="only regular files"), files.new_folder(tmp_path / "a") as fresh:
        (fresh / "passwords").symlink_to("/etc/passwd")
    assert names(tmp_path) == []


def test_a_pipe_or_an_endless_manifest_does_not_hang(tmp_path):
    with files.new_folder(tmp_path / "a") as fresh:
        (fresh / "empty").write_bytes(b"")
    (tmp_path / "a" / "empty").unlink()
    os.mkfifo(tmp_path / "a" / "empty")
    with pytest.raises(FileError, match="not the file of 0 bytes"):
        files.verify(tmp_path / "a")
    (tmp_path / "a" / "manifest.json").unlink()
    (tmp_path / "a" / "manifest.json").symlink_to("/dev/zero")
    with pytest.raises(FileError, match="not the file that was written"):
        files.verify(tmp_path / "a")


def test_a_manifest_that_names_files_outside_is_refused(tmp_path):
    (tmp_path / "outside").write_bytes(b"x")
    path = tmp_path / "a"
    path.mkdir()
    entry = files._File(1, files.sha256(tmp_path / "outside"))
    (path / "manifest.json").write_bytes(files._canonical(files._Manifest(1, {"../outside": entry})))
    with pytest.raises(FileError, match=r"\.\./outside: missing"):
        files.verify(path)


def test_a_folder_without_a_manifest_and_a_missing_one(tmp_path):
    with pytest.raises(FileError, match=r"has no manifest\.json"):
        files.verify(tmp_path)
    with pytest.raises(FileError, match="nowhere"):
        files.verify(tmp_path / "nowhere")


# ---- streams -----------------------------------------------------------------------------------------------------


def naive_lines(data, longest):
    """The obvious twin of lines()."""
    parts = data.split(b"\n")
    whole = parts if parts[-1] else parts[:-1]
    return [line[: longest + 1] for line in whole]


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_lines_agree_with_the_obvious_twin(tmp_path_factory, ending):
    path = tmp_path_factory.mktemp("lines") / f"a{ending}"

    @given(
        st.lists(st.sampled_from([b"\n", b"\r", b"a", b"bb", b"\xff", b"\x00", "é".encode(), b"c" * 30])),
        st.integers(0, 40),
    )
    def agree(parts, longest):
        data = b"".join(parts)
        path.write_bytes(gzip.compress(data) if ending else data)
        assert list(files.lines(path, longest=longest)) == naive_lines(data, longest)

    agree()


def test_an_over_long_line_is_cut_and_the_next_one_is_whole(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"x" * 5_000_000 + b"\nnext\n" + b"y" * 11)
    assert list(files.lines(path, longest=10)) == [b"x" * 11, b"next", b"y" * 11]


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"one\ntwo")))
    assert list(files.lines("-", longest=10)) == [b"one", b"two"]


@pytest.mark.parametrize("ending", PACKED)
def test_every_truncation_is_found(tmp_path, ending):
    need(ending)
    files.write_atomically(tmp_path / f"whole{ending}", TEXT)
    packed = (tmp_path / f"whole{ending}").read_bytes()
    path = tmp_path / f"a{ending}"
    for length in [*range(12), *range(12, len(packed), 97), len(packed) - 1]:
        path.write_bytes(packed[:length])
        with pytest.raises(FileError, match="damaged") as caught:
            list(files.lines(path, longest=1000))
        assert caught.value.place == str(path)


@pytest.mark.parametrize("ending", PACKED)
def test_other_bytes_than_the_ending_says_are_refused(tmp_path, ending):
    need(ending)
    path = tmp_path / f"a{ending}"
    path.write_bytes(b"plain text, not compressed at all\n" * 10)
    with pytest.raises(FileError, match="damaged"):
        list(files.lines(path, longest=1000))


@pytest.mark.parametrize("ending", PACKED)
def test_several_members_are_one_text(tmp_path, ending):
    need(ending)
    path = tmp_path / f"a{ending}"
    for part in (b"one\nt", b"wo\n"):
        files.write_atomically(tmp_path / f"part{ending}", part)
        with path.open("ab") as stream:
            stream.write((tmp_path / f"part{ending}").read_bytes())
    assert list(files.lines(path, longest=10)) == [b"one", b"two"]


@pytest.mark.parametrize("ending", PACKED)
def test_a_bomb_is_refused_long_before_it_is_unpacked(tmp_path, ending):
    need(ending)
    path = tmp_path / f"a{ending}"
    same = (b"a" * 1023 + b"\n") * 1024
    with path.open("wb") as raw, files._compressing(raw, path) as stream:
        for _ in range(48):
            stream.write(same)
    counted = itertools.count()
    with pytest.raises(FileError, match="unpacks to more than"):
        all(next(counted) < 1 << 30 for _ in files.lines(path, longest=2000))
    assert next(counted) < 40 << 10


def test_text_that_packs_well_is_no_bomb(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"the same line again and again\n" * 100_000))
    assert sum(1 for _ in files.lines(path, longest=100)) == 100_000


def test_the_standard_library_reads_what_is_written(tmp_path):
    for ending, unpack in ((".gz", gzip.decompress), (".bz2", bz2.decompress), (".xz", lzma.decompress)):
        files.write_atomically(tmp_path / f"a{ending}", TEXT)
        assert unpack((tmp_path / f"a{ending}").read_bytes()) == TEXT


def test_a_missing_package_is_named_with_its_extra(tmp_path, monkeypatch):
    (tmp_path / "a.zst").write_bytes(b"x")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtra, match=r"dragoman\[data\]"):
        list(files.lines(tmp_path / "a.zst", longest=10))


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(FileError, match="Check the name") as caught:
        list(files.lines(tmp_path / "nowhere.txt", longest=10))
    assert "nowhere.txt" in str(caught.value)
    with pytest.raises(FileError, match="Name a file"):
        list(files.lines(tmp_path, longest=10))


def test_torch_is_not_imported():
    command = [sys.executable, "-c", "import sys, dragoman.files; assert 'torch' not in sys.modules"]
    subprocess.run(command, check=True)
