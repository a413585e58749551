import io
import os

import numpy as np
import pytest

from dragoman.data.corpus import Features, build
from dragoman.data.features import ArrayFolder
from dragoman.data.lines import Fault, Reason
from dragoman.errors import DataError


@pytest.fixture
def folder(tmp_path):
    inside = tmp_path / "arrays"
    (inside / "deep").mkdir(parents=True)
    np.save(inside / "frames.npy", np.zeros((5, 4), dtype=np.float32))
    np.save(inside / "vector.npy", np.zeros(4, dtype=np.int16))
    np.save(inside / "deep" / "frames.npy", np.zeros((1, 4)))
    np.save(inside / "wide.npy", np.zeros((5, 5), dtype=np.float32))
    np.save(tmp_path / "outside.npy", np.zeros((5, 4), dtype=np.float32))
    return inside


def test_pairs_of_features_hold_the_paths_of_arrays(folder):
    (folder / "list").write_text("frames.npy\ndeep/frames.npy\nvector.npy\n")
    (folder / "captions").write_text("one\ntwo\nthree\n")
    corpus = build(Features(source=str(folder / "list"), target=str(folder / "captions")))
    assert [(pair.source, pair.target) for pair in corpus] == [
        (str(folder / "frames.npy"), "one"),
        (str(folder / "deep" / "frames.npy"), "two"),
        (str(folder / "vector.npy"), "three"),
    ]


def test_a_bad_array_is_refused_with_its_place(folder):
    (folder / "list").write_text("frames.npy\nmissing.npy\n")
    (folder / "captions").write_text("one\ntwo\n")
    with pytest.raises(DataError, match=r"unusable array: 'missing\.npy' is not a file") as caught:
        list(build(Features(source=str(folder / "list"), target=str(folder / "captions"))))
    assert caught.value.place == f"{folder / 'list'}:2"


def npy(array, **options):
    held = io.BytesIO()
    np.save(held, array, **options)
    return held.getvalue()


def header(text):
    body = text.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(body).to_bytes(2, "little") + body


FRAMES = npy(np.zeros((5, 4), dtype=np.float32))
UNUSABLE = {
    "nothing": b"",
    "no magic": b"hello",
    "cut header": FRAMES[:60],
    "cut": FRAMES[:-1],
    "too long": FRAMES + b"\0",
    "pickled": npy(np.array([{"a": 1}], dtype=object), allow_pickle=True),
    "text": npy(np.array(["a", "b"])),
    "complex": npy(np.zeros((2, 4), dtype=np.complex64)),
    "scalar": npy(np.float32(1)),
    "cube": npy(np.zeros((2, 2, 2))),
    "no frames": npy(np.zeros((0, 4))),
    "future version": b"\x93NUMPY\x09\x00" + FRAMES[8:],
    "huge": header("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000, 1000000000000), }"),
    "negative": header("{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 4), }"),
    "code": header("__import__('os').system('touch canary')"),
    "unfinished": header("{'descr': '<f4', 'fortran_order': False, 'shape': (1"),
    "named fields": header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1, 4), }"),
    "of Python 2": header("{'descr': '<f4', 'fortran_order': False, 'shape': (5L, 4L), }") + b"\0" * 80,
}


@pytest.mark.parametrize("kind", UNUSABLE)
def test_what_is_no_array_of_numbers_is_a_fault(folder, kind):
    (folder / "a.npy").write_bytes(UNUSABLE[kind])
    found = ArrayFolder(folder).path("a.npy")
    assert isinstance(found, Fault)
    assert found.reason is Reason.ARRAY
    assert found.detail.startswith("'a.npy'")


def test_all_arrays_have_vectors_of_one_size(folder):
    arrays = ArrayFolder(folder)
    assert arrays.path("frames.npy") == str(folder / "frames.npy")
    assert arrays.path("wide.npy") == Fault(Reason.ARRAY, "'wide.npy' has vectors of 5 numbers; the first had 4")
    assert arrays.path("vector.npy") == str(folder / "vector.npy")


@pytest.mark.parametrize("name", ["../outside.npy", "deep/../../outside.npy", "link.npy", "linked/outside.npy", "{}"])
def test_names_and_links_that_lead_out_of_the_folder_are_refused(folder, name):
    (folder / "link.npy").symlink_to(folder.parent / "outside.npy")
    (folder / "linked").symlink_to(folder.parent)
    found = ArrayFolder(folder).path(name.format(folder.parent / "outside.npy"))
    assert isinstance(found, Fault)
    assert found.detail.endswith("lies outside the folder of the list")


@pytest.mark.parametrize("name", ["deep", "circle", "pipe", "x" * 5000, "frames.npy/x"])
def test_what_is_no_file_is_not_opened(folder, name):
    (folder / "circle").symlink_to(folder / "circle")
    os.mkfifo(folder / "pipe")
    assert isinstance(ArrayFolder(folder).path(name), Fault)


def test_a_link_that_stays_inside_is_followed(folder):
    (folder / "link.npy").symlink_to(folder / "frames.npy")
    assert ArrayFolder(folder).path("link.npy") == str(folder / "frames.npy")


def test_a_list_in_a_folder_that_is_a_link_is_read(folder):
    (folder.parent / "alias").symlink_to(folder)
    assert ArrayFolder(folder.parent / "alias").path("frames.npy") == str(folder / "frames.npy")
