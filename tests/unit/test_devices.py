"""Devices, threads, memory, the processor, seeds. Machines are planted as folders of /proc and /sys files."""

from __future__ import annotations

import os
import platform
import random
import subprocess
import sys

import msgspec
import numpy as np
import pytest
import torch

from dragoman import devices
from dragoman.errors import FileError, SettingError


def plant(root, **texts: str):
    """A root folder with files; `__` in a name stands for a slash."""
    for name, text in texts.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


# ---- device and number format ------------------------------------------------------------------------------------


def test_auto_takes_a_gpu_where_one_works(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert devices.choose("auto") == torch.device("cpu") == devices.choose("cpu")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert devices.choose("auto") == torch.device("mps")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert devices.choose("auto") == torch.device("cuda")


@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_a_device_that_is_not_there_is_refused(monkeypatch, device):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(SettingError, match=f"no {device} device"):
        devices.choose(device)


def test_precisions():
    assert devices.dtype("float32") is torch.float32
    assert devices.dtype("bfloat16") is torch.bfloat16
    left = torch.ones(3, 3)
    for precision in ("float32", "bfloat16"):
        with devices.autocast(torch.device("cpu"), precision):
            assert (left @ left).dtype is devices.dtype(precision)


# ---- threads -----------------------------------------------------------------------------------------------------

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux: /proc and /sys")


def topology(*cores: int):
    """The files of a machine whose logical processor i is a thread of core cores[i]."""
    files = {}
    for number, core in enumerate(cores):
        files[f"sys__devices__system__cpu__cpu{number}__topology__core_id"] = f"{core}\n"
        files[f"sys__devices__system__cpu__cpu{number}__topology__physical_package_id"] = "0\n"
    return files


@linux
@pytest.mark.parametrize(
    ("allowed", "expected"), [({0, 1, 2, 3}, 2), ({0, 1}, 2), ({0, 2}, 1), ({3}, 1), ({0, 1, 3}, 2)]
)
def test_hyper_threads_count_once_and_affinity_counts(tmp_path, monkeypatch, allowed, expected):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: allowed)
    assert devices.cores(plant(tmp_path, **topology(0, 1, 0, 1))) == expected


@linux
def test_without_topology_every_processor_is_a_core(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 5})
    assert devices.cores(tmp_path) == 3


@linux
@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"proc__self__cgroup": "0::/a/b\n", "sys__fs__cgroup__a__b__cpu.max": "200000 100000\n"}, 2),
        ({"proc__self__cgroup": "0::/a/b\n", "sys__fs__cgroup__a__b__cpu.max": "max 100000\n"}, 8),
        ({"proc__self__cgroup": "0::/a/b\n", "sys__fs__cgroup__a__b__cpu.max": "50000 100000\n"}, 1),
        (
            {
                "proc__self__cgroup": "0::/a/b\n",
                "sys__fs__cgroup__a__b__cpu.max": "max 100000\n",
                "sys__fs__cgroup__a__cpu.max": "350000 100000\n",
            },
            3,
        ),
        (
            {
                "proc__self__cgroup": "4:cpu,cpuacct:/box\n2:memory:/box\n",
                "sys__fs__cgroup__cpu__box__cpu.cfs_quota_us": "400000\n",
                "sys__fs__cgroup__cpu__box__cpu.cfs_period_us": "100000\n",
            },
            4,
        ),
        (
            {
                "proc__self__cgroup": "4:cpu,cpuacct:/box\n",
                "sys__fs__cgroup__cpu,cpuacct__box__cpu.cfs_quota_us": "-1\n",
                "sys__fs__cgroup__cpu,cpuacct__box__cpu.cfs_period_us": "100000\n",
            },
            8,
        ),
        ({"proc__self__cgroup": "0::/\n", "sys__fs__cgroup__cpu.max": "600000 100000\n"}, 6),
    ],
)
def test_the_quota_of_a_container_counts(tmp_path, monkeypatch, files, expected):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    assert devices.cores(plant(tmp_path, **files)) == expected


def test_threads_are_set():
    before = torch.get_num_threads()
    try:
        assert devices.set_threads(2) == torch.get_num_threads() == 2
        assert devices.set_threads() == torch.get_num_threads() == devices.cores() >= 1
    finally:
        torch.set_num_threads(before)


# ---- memory ------------------------------------------------------------------------------------------------------

GIB = 1 << 30
MEMINFO = f"MemTotal: {16 * GIB >> 10} kB\nMemFree: 1 kB\nMemAvailable: {12 * GIB >> 10} kB\n"


@linux
@pytest.mark.parametrize(
    ("files", "total", "available"),
    [
        ({}, 16, 12),
        (
            {
                "proc__self__cgroup": "0::/a\n",
                "sys__fs__cgroup__a__memory.max": f"{4 * GIB}\n",
                "sys__fs__cgroup__a__memory.current": f"{3 * GIB}\n",
                "sys__fs__cgroup__a__memory.stat": f"anon 5\ninactive_file {GIB}\n",
            },
            4,
            2,
        ),
        (
            {
                "proc__self__cgroup": "0::/a\n",
                "sys__fs__cgroup__a__memory.max": "max\n",
                "sys__fs__cgroup__a__memory.current": "5\n",
            },
            16,
            12,
        ),
        (
            {
                "proc__self__cgroup": "9:memory:/a\n",
                "sys__fs__cgroup__memory__a__memory.limit_in_bytes": f"{2 * GIB}\n",
                "sys__fs__cgroup__memory__a__memory.usage_in_bytes": f"{3 * GIB}\n",
                "sys__fs__cgroup__memory__a__memory.stat": "total_inactive_file 0\n",
            },
            2,
            0,
        ),
        (
            {
                "proc__self__cgroup": "9:memory:/\n",
                "sys__fs__cgroup__memory__memory.limit_in_bytes": "9223372036854771712\n",
                "sys__fs__cgroup__memory__memory.usage_in_bytes": "5\n",
            },
            16,
            12,
        ),
    ],
)
def test_the_memory_of_a_container_counts(tmp_path, files, total, available):
    found = devices.memory(plant(tmp_path, proc__meminfo=MEMINFO, **files))
    assert (found.total / GIB, found.available / GIB) == (total, available)


def test_the_memory_of_this_machine():
    found = devices.memory()
    assert 1 << 26 < found.available <= found.total


# ---- the processor -----------------------------------------------------------------------------------------------


@linux
def test_the_features_of_processors(tmp_path):
    intel = plant(tmp_path / "i", proc__cpuinfo="model name\t: Intel(R) X\nflags\t\t: fpu avx2 fma avx512f amx_tile\n")
    found = devices.processor(intel)
    assert (found.name, found.features) == ("Intel(R) X", ("avx2", "fma", "avx512", "amx"))
    arm = plant(tmp_path / "a", proc__cpuinfo="Features\t: fp asimd asimddp bf16 i8mm\n")
    assert devices.processor(arm).features == ("bf16", "neon", "dotprod", "i8mm")
    assert devices.processor(tmp_path).features == ()


def test_the_processor_of_a_mac(monkeypatch):
    answers = {"machdep.cpu.brand_string": "Apple M9", "hw.optional.arm.FEAT_BF16": "1", "hw.physicalcpu": "10"}
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(devices, "_sysctl", lambda name: answers.get(name, ""))
    found = devices.processor()
    assert (found.name, found.cores, found.features) == ("Apple M9", 10, ("bf16",))


def test_the_memory_of_a_mac(monkeypatch):
    report = "Mach Virtual Memory Statistics: (page size of 16384 bytes)\nPages free: 100.\nPages inactive:  28.\n"
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(devices, "_output", lambda command: report if command == ["vm_stat"] else f"{8 * GIB}\n")
    assert devices.memory() == devices.Memory(8 * GIB, 128 * 16384)


@pytest.mark.parametrize("number_format", ["float32", "bfloat16", "int8"])
def test_peaks_are_measured(number_format):
    assert devices.measure_peak(number_format, seconds=0.01, size=64) > 0


def test_accelerators_can_be_listed():
    assert bool(devices.accelerators()) == (torch.cuda.is_available() or torch.backends.mps.is_available())


# ---- seeds and determinism ---------------------------------------------------------------------------------------


def normal():
    return float(np.random.randn())  # noqa: NPY002 - the old global generator is what is tested


def draw():
    return random.random(), float(np.random.rand()), torch.rand(3).tolist(), torch.randn(5).tolist()  # noqa: NPY002 - as above


@pytest.fixture
def generators():
    state = devices.random_state()
    yield
    devices.restore_random_state(state)


@pytest.mark.parametrize("seed", [0, 7, 2**40])
def test_a_seed_starts_every_generator(generators, seed):
    devices.seed_everything(seed)
    first = draw()
    devices.seed_everything(seed + 1)
    other = draw()
    devices.seed_everything(seed)
    assert draw() == first
    assert all(a != b for a, b in zip(first, other, strict=True))


def test_the_state_of_the_generators_comes_back(generators):
    devices.seed_everything(3)
    normal()
    random.gauss(0, 1)
    state = devices.random_state()
    assert isinstance(state, bytes)
    expected = draw(), normal(), random.gauss(0, 1)
    devices.seed_everything(4)
    devices.restore_random_state(state)
    assert (draw(), normal(), random.gauss(0, 1)) == expected
    devices.restore_random_state(state)
    assert devices.random_state() == state


def test_the_state_comes_back_in_another_process(generators):
    program = (
        "import sys, random, numpy, torch; from dragoman import devices;"
        "devices.restore_random_state(sys.stdin.buffer.read());"
        "print(repr((random.random(), float(numpy.random.rand()), torch.rand(3).tolist(), torch.randn(5).tolist())))"
    )
    state = devices.random_state()
    done = subprocess.run([sys.executable, "-c", program], input=state, capture_output=True, check=True)
    assert done.stdout.decode().strip() == repr(draw())


def test_a_damaged_state_is_refused(generators):
    state = devices.random_state()
    document = msgspec.msgpack.decode(state)
    wrong = [
        b"",
        state[:-1],
        b"\x80\x04K\x01.",
        msgspec.msgpack.encode({**document, "torch": b"short"}),
        msgspec.msgpack.encode({**document, "numpy_place": [10**9, 0, 0.0]}),
        msgspec.msgpack.encode({**document, "numpy_keys": b"short"}),
        msgspec.msgpack.encode({**document, "python": [3, [1, 2], None]}),
        msgspec.msgpack.encode({**document, "more": 1}),
    ]
    for each in wrong:
        with pytest.raises(FileError, match="not a state of random generators"):
            devices.restore_random_state(each)


def test_determinism_holds_inside_the_block_only():
    before = torch.are_deterministic_algorithms_enabled()
    with devices.deterministic():
        assert torch.are_deterministic_algorithms_enabled()
        assert not torch.backends.cudnn.benchmark
        with pytest.raises(RuntimeError, match="deterministic"):
            torch.nn.functional.max_unpool1d(torch.ones(1, 1, 2), torch.tensor([[[0, 2]]]), 2)
    assert torch.are_deterministic_algorithms_enabled() == before


@pytest.mark.parametrize(
    ("given", "count"),
    [({}, "1000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, None)],
)
def test_waiting_threads_give_up_their_core_unless_told_otherwise(given, count, monkeypatch):
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    devices.yield_cores()
    assert os.environ.pop("GOMP_SPINCOUNT", None) == count


def test_the_program_sets_how_threads_wait_before_torch_is_there():
    code = (
        "import os, sys\n"
        "from dragoman.cli import main\n"
        "def found(*_): print(os.environ.get('GOMP_SPINCOUNT'), 'torch' in sys.modules); return 0\n"
        "main._run = found\n"
        "main.main([])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=untold())
    assert run.stdout.split() == ["1000", "False"]


def test_torch_is_imported_late():
    command = [
        sys.executable,
        "-c",
        "import sys; from dragoman import devices as d; d.processor(); d.memory(); assert 'torch' not in sys.modules",
    ]
    subprocess.run(command, check=True)


def untold():
    """The environment without what other tests in this process may have had the program set in it."""
    ours = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")
    return {name: value for name, value in os.environ.items() if name not in ours}


@pytest.mark.skipif(not hasattr(torch.ops.mkldnn, "_linear_pointwise"), reason="torch without oneDNN")
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_few_kernels_take_little_memory():
    code = (
        "import sys, torch\n"
        "from pathlib import Path\n"
        "from dragoman.devices import keep_few_kernels\n"
        "if sys.argv[1] == 'few': keep_few_kernels(16)\n"
        "weight = torch.ones(512, 128)\n"
        "def product(rows): torch.ops.mkldnn._linear_pointwise(torch.ones(rows, 128), weight, None, 'none', [], '')\n"
        "def pages(): return int(Path('/proc/self/statm').read_text().split()[1])\n"
        "product(100); before = pages()\n"
        "for rows in range(101, 401): product(rows)\n"
        "print((pages() - before) * 4096 >> 20)"
    )
    few, many = (
        int(subprocess.run([sys.executable, "-c", code, each], capture_output=True, check=True, env=untold()).stdout)
        for each in ("few", "many")
    )
    assert few < many / 2


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries keep nothing")
def test_freed_memory_can_be_given_back():
    code = (
        "import torch\n"
        "from pathlib import Path\n"
        "from dragoman.devices import give_back_memory, keep_freed_memory\n"
        "def pages(): return int(Path('/proc/self/statm').read_text().split()[1])\n"
        "keep_freed_memory()\n"
        "held = [torch.ones(1 << 16) for _ in range(1000)]\n"
        "del held[:-1]\n"  # one at the end keeps the rest from being the heap's top
        "before = pages(); give_back_memory(); print((before - pages()) * 4096 >> 20)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(run.stdout) > 200


def test_freed_memory_is_kept_where_the_c_library_can():
    code = (
        "import ctypes, resource, torch\n"
        "from dragoman.devices import keep_freed_memory\n"
        "class Held(ctypes.Structure): _fields_ = [(name, ctypes.c_int) for name in 'abcdefghij']\n"
        "kept = keep_freed_memory()\n"
        "for _ in range(10): torch.ones(1 << 24)\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "for _ in range(10): torch.ones(1 << 24)\n"
        "faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before\n"
        "mallinfo = getattr(ctypes.CDLL(None), 'mallinfo', None)\n"
        "if kept: mallinfo.restype = Held\n"
        "print(kept, faults, mallinfo().i if kept else 0)"  # the ninth: bytes that are free and kept
    )
    for _ in range(3):  # a system that is short of memory may itself take pages back meanwhile
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        kept, faults, held = run.stdout.split()
        assert kept == str(platform.libc_ver()[0] == "glibc")
        assert kept == "False" or int(held) >= 4 << 24
        if kept == "False" or int(faults) < 2000:
            break
    assert kept == "False" or int(faults) < 2000  # every tensor has 16,384 pages
