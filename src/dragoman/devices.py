"""What a program computes on: device, number format, threads, memory; and the seeds that make a run repeatable.

Limits that containers set count as the machine's own: a program that may use two of sixty-four cores has two. torch
is imported inside the functions that need it, so that this module costs nothing where it is only asked for facts.
The `root` of a function is the folder under which /proc and /sys lie.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import random
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, assert_never

import msgspec
from msgspec import Meta

from dragoman.errors import FileError, SettingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import torch

Device = Literal["auto", "cpu", "cuda", "mps"]
Precision = Literal["float32", "bfloat16"]
NumberFormat = Literal["float32", "bfloat16", "int8"]

_ROOT = Path("/")

# ---- device and number format ------------------------------------------------------------------------------------


def choose(device: Device) -> torch.device:
    """The torch device that a setting asks for; `auto` takes a GPU where one works."""
    import torch

    works = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if device == "auto":
        return torch.device(next(name for name in ("cuda", "mps", "cpu") if works[name]))
    if not works[device]:
        raise SettingError(
            f"this machine has no {device} device that torch {torch.__version__} can use",
            place="device",
            remedy='Set it to "auto" or "cpu", or ask `dragoman doctor` what is missing.',
        )
    return torch.device(device)


def dtype(precision: Precision) -> torch.dtype:
    """The torch number format of a precision."""
    import torch

    match precision:
        case "float32":
            return torch.float32
        case "bfloat16":
            return torch.bfloat16
        case _:
            assert_never(precision)


def autocast(device: torch.device, precision: Precision) -> torch.autocast:
    """A block in which products are computed in the precision, while parameters keep theirs."""
    import torch

    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bfloat16")


# ---- threads -----------------------------------------------------------------------------------------------------


def cores(root: Path = _ROOT) -> int:
    """How many physical cores this process may use: its affinity and its container's quota count."""
    if sys.platform == "darwin":
        return int(_sysctl("hw.physicalcpu") or 1)
    allowed = os.sched_getaffinity(0)
    quota = _processor_quota(root)
    physical = len({_core(root, number) for number in allowed})
    return max(1, physical if quota is None else min(physical, int(quota)))


def set_threads(count: int | None = None) -> int:
    """The number of threads that torch computes with from now on: `count`, or one per core."""
    import torch

    chosen = count or cores()
    torch.set_num_threads(chosen)
    return chosen


def yield_cores() -> None:
    """Have threads that wait for each other give their core up early, unless the environment says how long they wait.

    Torch's threads meet thousands of times in an update. Where they wait by spinning, as they do for milliseconds by
    default, and one core also serves another program, each may spin on the core that the other one needs. GNU's OpenMP
    reads this as torch is imported: call it before.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")


def _core(root: Path, number: int) -> tuple[str, ...]:
    """A name for the physical core behind a logical one; hyper-threads share it."""
    topology = root / "sys/devices/system/cpu" / f"cpu{number}" / "topology"
    names = [_read(topology / part) for part in ("physical_package_id", "core_id")]
    return tuple(n.strip() for n in names) if all(names) else (str(number),)


def _processor_quota(root: Path) -> float | None:
    """How many processors' worth of time the containers around this process leave it; nothing for no limit."""
    quotas = []
    for folder in _control_groups(root, "cpu"):
        limit, _, period = _read(folder / "cpu.max").strip().partition(" ")
        if not limit:
            limit, period = _read(folder / "cpu.cfs_quota_us").strip(), _read(folder / "cpu.cfs_period_us").strip()
        if limit.isdigit() and period.isdigit() and int(period):
            quotas.append(int(limit) / int(period))
    return min(quotas, default=None)


def _control_groups(root: Path, controller: str) -> list[Path]:
    """The folders of this process's control groups with one controller (version 2 or 1), the innermost first."""
    found: list[Path] = []
    for line in _read(root / "proc/self/cgroup").splitlines():
        number, controllers, inner = [*line.split(":", 2), "", ""][:3]
        mounts = root / "sys/fs/cgroup"
        if number == "0":
            tops = [mounts, mounts / "unified"]
        elif controller in controllers.split(","):
            tops = [mounts / controller, mounts / controllers]
        else:
            continue
        for top in tops:
            path = top / inner.lstrip("/")
            inside = [path, *path.parents]
            found += [folder for folder in inside[: inside.index(top) + 1] if folder.is_dir()]
    return found


# ---- memory ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of main memory that this process may use, and how many of them are free to take now."""

    total: int
    available: int


def memory(root: Path = _ROOT) -> Memory:
    """The memory of this machine, or of the container if that allows less."""
    if sys.platform == "darwin":
        return _memory_of_a_mac()
    lines: dict[str, str] = dict(re.findall(r"^(\w+):\s+(\d+) kB$", _read(root / "proc/meminfo"), re.MULTILINE))
    machine = total = int(lines.get("MemTotal", 0)) << 10
    available = int(lines.get("MemAvailable", lines.get("MemFree", 0))) << 10
    for folder in _control_groups(root, "memory"):
        limit = _number(folder, "memory.max", "memory.limit_in_bytes")
        used = _number(folder, "memory.current", "memory.usage_in_bytes")
        if limit is None or used is None or limit >= machine:
            continue
        statistics = _read(folder / "memory.stat")
        cache = re.search(r"^(?:total_)?inactive_file (\d+)$", statistics, re.MULTILINE)
        free = limit - used + (int(cache[1]) if cache else 0)
        total, available = min(total, limit), min(available, max(0, free))
    return Memory(total, available)


_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""What malloc.h calls M_TRIM_THRESHOLD and M_MMAP_THRESHOLD."""


def keep_freed_memory() -> bool:
    """Have the C library keep large freed blocks for the next use, from now on; whether it does.

    By default glibc maps large blocks afresh and gives them back at once: the system then clears every page of every
    tensor again. Other C libraries have no such setting.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return all([mallopt(_MMAP_THRESHOLD, 1 << 30), mallopt(_TRIM_THRESHOLD, (1 << 31) - 1)])


def give_back_memory() -> None:
    """Return what was freed and kept to the system: pieces too scattered to be of use again pile up."""
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).malloc_trim(0)


def keep_few_kernels(count: int = 128) -> None:
    """Have oneDNN, and torch's own layer over it, keep so many kernels of products, unless they are told otherwise.

    Each shape of a product has a kernel of its own, of most of a megabyte, and 1,024 are kept by default. Batches of
    texts come in ever new shapes: some 50 in an update, and few of them again in the next. What stands here is read
    before the first product of a process, so it comes too late for one that has computed before.
    """
    for name in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
        os.environ.setdefault(name, str(count))


def _number(folder: Path, *names: str) -> int | None:
    for name in names:
        if (text := _read(folder / name).strip()).isdigit():
            return int(text)
    return None


def _memory_of_a_mac() -> Memory:
    total = int(_sysctl("hw.memsize") or 0)
    report = _output(["vm_stat"])
    page = re.search(r"page size of (\d+) bytes", report)
    pages = re.findall(r"^Pages (?:free|inactive|speculative):\s+(\d+)\.$", report, re.MULTILINE)
    available = sum(map(int, pages)) * (int(page[1]) if page else 4096)
    return Memory(total, min(total, available))


# ---- the processor -----------------------------------------------------------------------------------------------

_FLAGS = {
    "avx2": ("avx2",),
    "fma": ("fma",),
    "avx512": ("avx512f",),
    "vnni": ("avx512_vnni", "avx_vnni"),
    "bf16": ("avx512_bf16", "amx_bf16", "bf16"),
    "amx": ("amx_tile",),
    "neon": ("asimd",),
    "dotprod": ("asimddp",),
    "i8mm": ("i8mm",),
    "sve": ("sve",),
}
"""What each feature is called in /proc/cpuinfo, on Intel, AMD and ARM."""

_MAC_FLAGS = {
    "neon": "hw.optional.neon",
    "bf16": "hw.optional.arm.FEAT_BF16",
    "i8mm": "hw.optional.arm.FEAT_I8MM",
    "dotprod": "hw.optional.arm.FEAT_DotProd",
    "avx2": "hw.optional.avx2_0",
    "avx512": "hw.optional.avx512f",
    "fma": "hw.optional.fma",
}


@dataclass(frozen=True, slots=True)
class Processor:
    """The processor: its name and architecture, its logical and (usable) physical cores, and what it is good at."""

    name: str
    architecture: str
    logical: int
    cores: int
    features: tuple[str, ...]


def processor(root: Path = _ROOT) -> Processor:
    """The processor of this machine."""
    if sys.platform == "darwin":
        name = _sysctl("machdep.cpu.brand_string")
        features = tuple(f for f, key in _MAC_FLAGS.items() if _sysctl(key) == "1")
    else:
        text = _read(root / "proc/cpuinfo")
        named = re.search(r"^(?:model name|Model|Hardware)\s*:\s*(.+)$", text, re.MULTILINE)
        listed = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", text, re.MULTILINE)
        name = named[1].strip() if named else ""
        flags = set(listed[1].split()) if listed else set()
        features = tuple(f for f, spellings in _FLAGS.items() if flags & set(spellings))
    return Processor(name or platform.machine(), platform.machine(), os.cpu_count() or 1, cores(root), features)


@dataclass(frozen=True, slots=True)
class Accelerator:
    """A GPU that torch can use: its kind, name and memory in bytes (0 where it shares the machine's)."""

    kind: str
    name: str
    memory: int


def accelerators() -> tuple[Accelerator, ...]:
    """The GPUs that torch can use."""
    import torch

    found = []
    if torch.cuda.is_available():
        for number in range(torch.cuda.device_count()):
            properties = torch.cuda.get_device_properties(number)
            found.append(Accelerator("cuda", properties.name, properties.total_memory))
    if torch.backends.mps.is_available():
        found.append(Accelerator("mps", platform.machine(), 0))
    return tuple(found)


def measure_peak(number_format: NumberFormat, *, seconds: float = 0.3, size: int = 1024) -> float:
    """The billions of operations a second that the processor reaches in a square matrix product, at best."""
    return max(_rate(multiply, seconds, size) for multiply in _products(number_format, size))


def _rate(multiply: Callable[[], torch.Tensor], seconds: float, size: int) -> float:
    multiply()
    end = time.perf_counter() + seconds
    best = float("inf")
    while (start := time.perf_counter()) < end:
        multiply()
        best = min(best, time.perf_counter() - start)
    return 2 * size**3 / best / 1e9


def _products(number_format: NumberFormat, size: int) -> list[Callable[[], torch.Tensor]]:
    """The ways to the product; in float32 two libraries compete, and the better one depends on the processor."""
    import torch

    generator = torch.Generator().manual_seed(0)
    match number_format:
        case "float32" | "bfloat16":
            left, right = (torch.rand(size, size, generator=generator).to(dtype(number_format)) for _ in range(2))
            ways = [lambda: left @ right]
            if number_format == "float32" and hasattr(torch.ops.mkldnn, "_linear_pointwise"):
                onednn = torch.ops.mkldnn._linear_pointwise  # noqa: SLF001 - torch has no public name for it
                ways.append(lambda: onednn(left, right, None, "none", [], ""))
            return ways
        case "int8":
            bytes_left, bytes_right = (
                torch.randint(-99, 99, (size, size), dtype=torch.int8, generator=generator) for _ in range(2)
            )
            return [lambda: torch._int_mm(bytes_left, bytes_right)]  # noqa: SLF001 - as above
        case _:
            assert_never(number_format)


# ---- seeds and determinism ---------------------------------------------------------------------------------------


def seed_everything(seed: int) -> None:
    """Start the generators of Python, numpy and torch (GPUs too) from one seed."""
    import numpy as np
    import torch

    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002 - other people's code draws from the old global generator
    torch.manual_seed(seed)


@contextlib.contextmanager
def deterministic() -> Iterator[None]:
    """A block in which torch computes the same bits every time, or refuses."""
    import torch

    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS asks for it; read when it starts
    before = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        torch.backends.cudnn.benchmark,
    )
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.benchmark = False
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
        torch.backends.cudnn.benchmark = before[2]


class _RandomState(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="random-1"):
    """Where the generators stand: numbers and bytes, nothing that could be executed."""

    python: tuple[int, tuple[int, ...], float | None]
    numpy_keys: Annotated[bytes, Meta(min_length=2496, max_length=2496)]
    numpy_place: tuple[Annotated[int, Meta(ge=0, le=624)], Annotated[int, Meta(ge=0, le=1)], float]
    torch: bytes
    cuda: tuple[bytes, ...]
    mps: bytes


def random_state() -> bytes:
    """Where the generators of Python, numpy and torch stand, as plain bytes for a checkpoint."""
    import numpy as np
    import torch

    version, numbers, gauss = random.getstate()
    _, keys, position, has_gauss, cached = np.random.get_state(legacy=True)  # noqa: NPY002 - as in seed_everything
    state = _RandomState(
        python=(version, numbers, gauss),
        numpy_keys=np.asarray(keys, dtype="<u4").tobytes(),
        numpy_place=(int(position), int(has_gauss), float(cached)),
        torch=_to_bytes(torch.get_rng_state()),
        cuda=tuple(map(_to_bytes, torch.cuda.get_rng_state_all())) if torch.cuda.is_available() else (),
        mps=_to_bytes(torch.mps.get_rng_state()) if torch.backends.mps.is_available() else b"",
    )
    return msgspec.msgpack.encode(state)


def restore_random_state(state: bytes) -> None:
    """Put the generators back where `random_state` found them; those of GPUs that are not here are left alone."""
    import numpy as np
    import torch

    try:
        wanted = msgspec.msgpack.decode(state, type=_RandomState)
        random.setstate(wanted.python)
        position, has_gauss, cached = wanted.numpy_place
        keys = np.frombuffer(wanted.numpy_keys, dtype="<u4")
        np.random.set_state(("MT19937", keys, position, has_gauss, cached))  # noqa: NPY002 - as in seed_everything
        torch.set_rng_state(_to_tensor(wanted.torch))
    except (msgspec.MsgspecError, ValueError, TypeError, RuntimeError, OverflowError) as error:
        raise FileError(
            f"not a state of random generators: {error}",
            place="random state",
            remedy="The checkpoint is damaged, or from another program: use an older one.",
        ) from None
    if torch.cuda.is_available():
        for number, each in enumerate(wanted.cuda[: torch.cuda.device_count()]):
            torch.cuda.set_rng_state(_to_tensor(each), number)
    if wanted.mps and torch.backends.mps.is_available():
        torch.mps.set_rng_state(_to_tensor(wanted.mps))


def _to_bytes(tensor: torch.Tensor) -> bytes:
    return tensor.numpy().tobytes()


def _to_tensor(data: bytes) -> torch.Tensor:
    import torch

    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


# ---- asking the system -------------------------------------------------------------------------------------------


def _read(path: Path) -> str:
    """The text of a file of the kernel's; nothing if it is not there."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _sysctl(name: str) -> str:
    return _output(["sysctl", "-n", name]).strip()


def _output(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
