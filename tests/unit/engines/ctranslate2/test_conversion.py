"""The cache of converted models: each is converted once, whoever asks, and damage is noticed."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from dragoman import bundle as bundles
from dragoman.engines.ctranslate2 import conversion
from dragoman.engines.ctranslate2.conversion import converted
from dragoman.errors import MissingExtra
from reference.bundles import bundle


@pytest.fixture
def origin(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    bundles.save(bundle(), tmp_path / "model")
    return tmp_path / "model"


def test_a_model_is_converted_once(origin, monkeypatch):
    made = bundles.load(origin)
    place = converted(made, origin)
    monkeypatch.setattr(conversion, "write", None)
    assert converted(made, origin) == place


def test_another_model_has_another_place(origin):
    one = converted(bundles.load(origin), origin)
    bundles.save(bundle(seed=1), origin)
    assert converted(bundles.load(origin), origin) != one


def test_a_damaged_conversion_is_made_again(origin):
    made = bundles.load(origin)
    weights = converted(made, origin) / "model.bin"
    good = weights.read_bytes()
    weights.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    assert (converted(made, origin) / "model.bin").read_bytes() == good


def test_one_that_was_cut_short_is_made_again(origin):
    made = bundles.load(origin)
    place = converted(made, origin)
    shutil.move(place, place.with_name(f"{place.name}.tmp"))
    assert converted(made, origin) == place


_CONVERT = """
import pathlib, sys, time
from dragoman import bundle as bundles
from dragoman.engines.ctranslate2 import conversion
origin, here, other = map(pathlib.Path, sys.argv[1:])
made, real = bundles.load(origin), conversion.write
def slow(*arguments, **options):
    print("converts")
    time.sleep(0.5)
    real(*arguments, **options)
conversion.write = slow
here.touch()
while not other.exists():
    time.sleep(0.01)
assert (conversion.converted(made, origin) / "model.bin").exists()
"""


def test_of_processes_that_convert_at_once_one_does_it(origin, tmp_path):
    flags = [str(tmp_path / "one"), str(tmp_path / "other")]
    command = [sys.executable, "-c", _CONVERT, str(origin)]
    workers = [
        subprocess.Popen([*command, *names], stdout=subprocess.PIPE, text=True) for names in (flags, flags[::-1])
    ]
    said = [worker.communicate(timeout=120)[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0]
    assert sorted(said) == ["", "converts\n"]


def test_a_missing_package_names_its_extra(origin, monkeypatch):
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(MissingExtra, match=r'pip install "dragoman\[export\]"'):
        converted(bundles.load(origin), origin)
