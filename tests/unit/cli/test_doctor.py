"""`dragoman doctor`: each thing that may be wrong with a machine gets a line with its remedy."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from dragoman import devices, files
from dragoman.cli import doctor_facts
from dragoman.cli.doctor import doctor
from dragoman.cli.doctor_advice import remarks
from dragoman.cli.doctor_facts import Disk, Facts, Package, Sets, Torch

GIB = 1 << 30
GPU = devices.Accelerator("cuda", "A9", 80 * GIB)
HEALTHY = Facts(
    dragoman="0.1.0",
    python="3.11.7",
    system="Linux",
    processor=devices.Processor("CPU", "x86_64", 8, 4, ("avx2", "fma")),
    peaks={"float32": 100.0, "bfloat16": 110.0, "int8": 300.0},
    threads_wanted="",
    memory=devices.Memory(16 * GIB, 12 * GIB),
    disk=Disk("/here", 50 * GIB, 500e6, ""),
    torch=Torch("2.13.0+cpu", "CPU", 4, (), ""),
    nvidia=False,
    packages=(Package("torch", "2.6", "2.13.0+cpu", ""), Package("pyarrow", "15", "26.0.1", "data")),
    sets=Sets(None, (), "/cache", ("scan",), (), ()),
)


def said(**changes: object):
    """What is said of a healthy machine with something changed."""
    return [(r.level, r.what, r.remedy) for r in remarks(dataclasses.replace(HEALTHY, **changes))]


def run(*arguments: str):
    return CliRunner().invoke(doctor, arguments)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty cache and an empty folder to stand in."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("DRAGOMAN_DATA", raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


# ---- advice ------------------------------------------------------------------------------------------------------


def test_of_a_healthy_machine_nothing_is_said():
    assert said() == []


@pytest.mark.parametrize(
    ("changes", "level", "what", "remedy"),
    [
        (
            {"packages": (Package("numpy", "1.26", "1.25.9", ""),)},
            "problem",
            "numpy 1.25.9 is too old: 1.26 is needed",
            'pip install --upgrade "numpy>=1.26"',
        ),
        ({"packages": (Package("click", "8", None, ""),)}, "problem", "click: not installed", "pip install dragoman"),
        (
            {"packages": (Package("pyarrow", "15", None, "data"), Package("zstandard", "0.22", None, "data"))},
            "hint",
            "pyarrow, zstandard: not installed (the extra 'data')",
            'pip install "dragoman[data]"',
        ),
        ({"torch": None, "packages": ()}, "problem", "torch: not installed", "pip install torch"),
        (
            {"torch": Torch("2.13.0", "", 0, (), "libgomp.so.1: cannot open")},
            "problem",
            "cannot be imported: libgomp",
            "--force-reinstall",
        ),
        ({"torch": Torch("2.13.0", "CUDA 13.0", 4, (), "")}, "hint", "no GPU works here", "torch's CPU build"),
        (
            {"torch": Torch("2.13.0", "CUDA 13.0", 4, (), ""), "nvidia": True},
            "hint",
            "no GPU works here",
            "driver",
        ),
        ({"nvidia": True}, "hint", "there seems to be an NVIDIA GPU", "CUDA build"),
        ({"threads_wanted": "2"}, "hint", "OMP_NUM_THREADS=2, and 4 cores may be used", "Unset it"),
        (
            {"processor": devices.Processor("CPU", "x86_64", 8, 1, ("avx2",))},
            "hint",
            "one core",
            "ask for more cores",
        ),
        ({"processor": devices.Processor("CPU", "x86_64", 8, 4, ())}, "hint", "no AVX2", "virtual machine"),
        (
            {"peaks": {"float32": 100.0, "bfloat16": 300.0}},
            "hint",
            "3.0 times as fast in bfloat16",
            'training.precision = "bfloat16"',
        ),
        (
            {"peaks": {"float32": 100.0, "bfloat16": 30.0}},
            "hint",
            "bfloat16 is slower",
            'Leave training.precision at "float32"',
        ),
        ({"memory": devices.Memory(4 * GIB, 3 * GIB)}, "hint", "3.0 GiB of memory free, of 4.0", "batch_tokens"),
        ({"memory": devices.Memory(4 * GIB, GIB // 2)}, "problem", "0.5 GiB of memory", "batch_tokens"),
        ({"disk": Disk("/here", 2 * GIB, 5e8, "")}, "hint", "2.0 GiB of disk free in /here", "Make room"),
        ({"disk": Disk("/here", 5 << 20, 5e8, "")}, "problem", "0.0 GiB of disk free", "Make room"),
        ({"disk": Disk("/here", 50 * GIB, 5e6, "")}, "hint", "writes 5 MB a second", "checkpoint_every"),
        ({"disk": Disk("/here", 50 * GIB, None, "read-only")}, "problem", "read-only", "folder of your own"),
        ({"sets": Sets("/data", (), "/c", (), (), ())}, "problem", "DRAGOMAN_DATA names /data", "unset it"),
        ({"sets": Sets(None, (), "/c", (), ("scan",), ())}, "problem", "scan in /c is damaged", "data get scan"),
        ({"sets": Sets(None, (), "/c", (), (), ("scan",))}, "hint", "scan was not finished", "data get scan"),
    ],
)
def test_what_is_wrong_is_said_with_its_remedy(changes, level, what, remedy):
    (found,) = said(**changes)
    assert found[0] == level
    assert what in found[1]
    assert remedy in found[2]


def test_a_gpu_that_works_and_unmeasured_speeds_are_no_matter():
    assert said(torch=Torch("2.13.0", "CUDA 13.0", 4, (GPU,), ""), nvidia=True) == []
    assert said(peaks={"float32": None, "bfloat16": None}, disk=Disk("/here", None, None, "")) == []
    assert said(processor=devices.Processor("M9", "arm64", 8, 4, ("neon",))) == []


def test_problems_come_first():
    found = said(threads_wanted="1", torch=None, packages=())
    assert [level for level, _, _ in found] == ["problem", "hint"]


@pytest.mark.parametrize(
    ("installed", "needed", "old"),
    [
        ("2.13.0+cpu", "2.6", False),
        ("2.5.9", "2.6", True),
        ("2.6", "2.6.0", False),
        ("2.6.0", "2.6", False),
        ("10", "9.9", False),
        ("1.0rc1", "1", False),
        (None, "1", False),
    ],
)
def test_versions_are_compared_as_numbers(installed, needed, old):
    assert Package("p", needed, installed, "").old is old


# ---- facts -------------------------------------------------------------------------------------------------------


def test_the_facts_of_this_machine(home):
    facts = doctor_facts.gather(measure=False)
    named = {package.name: package for package in facts.packages}
    assert {"torch", "numpy", "sentencepiece", "msgspec", "click"} <= set(named)
    assert named["zstandard"].extra == "data"
    assert not {"pytest", "ruff"} & set(named)
    assert all(package.needed != "0" for package in named.values())
    assert facts.torch is not None
    assert facts.torch.version == importlib.metadata.version("torch")
    assert set(facts.peaks.values()) == {None}
    assert facts.disk.speed is None


def test_speeds_are_measured_and_nothing_is_left_behind(home, monkeypatch):
    measured = []
    monkeypatch.setattr(devices, "measure_peak", lambda name: measured.append(name) or 7.0)
    facts = doctor_facts.gather()
    assert facts.peaks == {"float32": 7.0, "bfloat16": 7.0, "int8": 7.0}
    assert measured == ["float32", "bfloat16", "int8"]
    assert (facts.disk.speed or 0) > 1e5
    assert os.listdir(home / "here") == []  # noqa: PTH208 - names are enough


def test_a_format_that_the_processor_lacks_is_left_out(home, monkeypatch):
    def peak(name):
        if name == "int8":
            raise RuntimeError("not on this processor")
        return 5.0

    monkeypatch.setattr(devices, "measure_peak", peak)
    assert doctor_facts.gather().peaks == {"float32": 5.0, "bfloat16": 5.0, "int8": None}


def test_a_folder_that_cannot_be_written_is_a_fault(home, monkeypatch):
    def refuse(_path):
        raise files.FileError("cannot write: Read-only file system", remedy="Choose another.")

    monkeypatch.setattr(files, "replacing", refuse)
    disk = doctor_facts._disk(home, measure=True)
    assert "Read-only" in disk.fault
    assert disk.speed is None


def test_data_sets_whole_damaged_and_unfinished(home, monkeypatch):
    cache = home / "cache" / "dragoman"
    for name in ("scan", "rnnlg"):
        with files.new_folder(cache / name) as fresh:
            (fresh / "x").write_bytes(b"12")
    (cache / "rnnlg" / "x").write_bytes(b"1")
    (cache / "partial" / "winomt").mkdir(parents=True)
    (home / "local" / "geoquery").mkdir(parents=True)
    monkeypatch.setenv("DRAGOMAN_DATA", str(home / "local"))
    assert doctor_facts.gather(measure=False).sets == Sets(
        local=str(home / "local"),
        local_sets=("geoquery",),
        cache=str(cache),
        cached=("scan",),
        damaged=("rnnlg",),
        unfinished=("winomt",),
    )


# ---- the command -------------------------------------------------------------------------------------------------


def test_the_report_names_what_matters(home):
    done = run("--no-measure")
    for label in ("processor", "cores", "peaks", "memory", "disk", "torch", "packages", "[data]", "data", "cache"):
        assert f"\n{label} " in f"\n{done.stdout}"
    assert "not measured" in done.stdout
    assert done.exit_code in (0, 3)


def test_the_exit_code_tells_of_problems_and_not_of_hints(monkeypatch):
    monkeypatch.setattr(doctor_facts, "gather", lambda **_: dataclasses.replace(HEALTHY, threads_wanted="1"))
    assert run().exit_code == 0
    broken = dataclasses.replace(HEALTHY, torch=Torch("2", "", 0, (), "broken"))
    monkeypatch.setattr(doctor_facts, "gather", lambda **_: broken)
    done = run()
    assert done.exit_code == 3
    assert "problem: torch 2 is installed and cannot be imported: broken" in done.stdout


def test_a_healthy_machine_is_told_so(monkeypatch):
    monkeypatch.setattr(doctor_facts, "gather", lambda **_: HEALTHY)
    assert run().stdout.endswith("\nNothing is wrong.\n")


def test_json_holds_facts_and_remarks(monkeypatch):
    monkeypatch.setattr(doctor_facts, "gather", lambda **_: dataclasses.replace(HEALTHY, threads_wanted="1"))
    document = json.loads(run("--json").stdout)
    assert document["processor"]["cores"] == 4
    assert document["peaks"]["int8"] == 300.0
    (remark,) = document["remarks"]
    assert set(remark) == {"level", "what", "remedy"}


@pytest.mark.parametrize("how", ["missing", "broken"])
def test_it_answers_without_torch(home, how):
    """In a fresh process, where torch cannot be imported."""
    raised = "ModuleNotFoundError('no torch', name='torch')" if how == "missing" else "OSError('libgomp is missing')"
    program = f"""
import sys
class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise {raised}
sys.meta_path.insert(0, NoTorch())
import importlib.metadata as m
version = m.version
def without(name):
    if name == "torch" and "{how}" == "missing":
        raise m.PackageNotFoundError(name)
    return version(name)
m.version = without
from dragoman.cli.main import main
main(["doctor"])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 3, done.stderr
    assert "problem: torch" in done.stdout
    assert ("torch: not installed" if how == "missing" else "cannot be imported: libgomp is missing") in done.stdout
    assert "not measured" in done.stdout
    assert done.stderr == ""
