"""Weights out of a pickle, in a process of their own: what can go wrong there goes wrong there.

    python -m dragoman.interop.unpickling WEIGHTS.bin WEIGHTS.safetensors KEYS FACTS

A pickle is a program. The child reads it with torch's restricted reader, which knows tensors and little else; should
that be broken again, the process has no network, starts no other, writes nothing but its one file, and has a bound on
its memory and time. The parent reads safetensors alone.

The reader, the guard over what the process does, and the bound on its time stand everywhere; a network of its own is
Linux's, and Windows has no bound on memory.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.errors import FileError
from dragoman.interop.numpy_scalars import STAND_INS

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["unpickled"]

_SECONDS = 1800
_MEMORY = 8 << 30
"""Address space beside that of the weights: torch's libraries alone map gigabytes."""
_INHERITED = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "SYSTEMROOT")
"""What the child learns of its surroundings; without the last no Python starts on Windows."""
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_REFUSED = (
    "socket.",
    "subprocess.",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "os.spawn",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.symlink",
    "os.link",
    "os.chmod",
    "os.chown",
    "os.truncate",
    "pty.",
    "ctypes.dlopen",
    "shutil.",
    "webbrowser.",
    "urllib.",
    "ftplib.",
    "smtplib.",
)
_DONE = 0


def unpickled(pickle: Path, into: Path, *, key: str = "", facts: Sequence[str] = ()) -> None:
    """Write the tensors of a pickle as safetensors; FileError where it holds anything else.

    `key` is where they stand in it, or several such with commas between, which then begin their names; without, the
    pickle is a dictionary of tensors itself. What stands under the names of `facts` (numbers, texts, lists and such) is
    written as JSON into the metadata.
    """
    environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    command = [
        sys.executable,
        "-m",
        "dragoman.interop.unpickling",
        str(pickle.absolute()),
        str(into.absolute()),
        key,
        ",".join(facts),
    ]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_SECONDS, env=environment, cwd=into.parent
        )
    except subprocess.TimeoutExpired:
        raise _refusal(pickle, f"was not read within {_SECONDS} seconds") from None
    if done.returncode != _DONE or not into.exists():
        said = done.stderr.strip().splitlines()
        raise _refusal(pickle, f"holds more than weights, or is damaged ({said[-1] if said else done.returncode})")


def _refusal(pickle: Path, problem: str) -> FileError:
    return FileError(
        problem,
        place=str(pickle),
        remedy="Nothing of it was kept. Look for the same weights in safetensors.",
    )


# ---- in the child ------------------------------------------------------------------------------------------------


def _main(pickle: Path, into: Path, key: str, facts: str = "") -> None:
    import torch
    from safetensors.torch import save_file

    torch.serialization.add_safe_globals(STAND_INS)
    if facts:  # options are kept in this class, which is a dictionary with dots
        torch.serialization.add_safe_globals([argparse.Namespace])

    _bound_memory(3 * pickle.stat().st_size + _MEMORY)
    _leave_network()
    allowed = str(into)
    state = torch.load  # looked up before the guard stands: from here on nothing is imported from disk on purpose
    sys.addaudithook(lambda event, given: _guard(event, given, allowed))
    loaded = state(pickle, map_location="cpu", weights_only=True)
    keys = key.split(",") if key else []
    tensors = _tensors(loaded if not keys else loaded[key] if len(keys) == 1 else {each: loaded[each] for each in keys})
    told = {name: json.dumps(_plain(loaded[name])) for name in facts.split(",") if name}
    save_file({name: value.detach().clone().contiguous() for name, value in tensors.items()}, into, told or None)


def _plain(value: Any) -> Any:
    """What JSON can say of a value; nothing of whatever else it is."""
    if isinstance(value, argparse.Namespace):
        value = vars(value)
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if isinstance(value, str | int | float | bool) else None


def _tensors(loaded: Any) -> dict[str, Any]:
    """The tensors by name, those in dictionaries within with dots between the names."""
    import torch

    if not isinstance(loaded, dict):
        raise TypeError("this is no dictionary of weights")
    found = {}
    for name, value in loaded.items():
        if isinstance(value, torch.Tensor):
            found[str(name)] = value
        elif isinstance(value, dict):
            found |= {f"{name}.{inner}": each for inner, each in _tensors(value).items()}
    return found


def _guard(event: str, given: tuple[Any, ...], allowed: str) -> None:
    writes = event == "open" and _is_writing(given) and str(given[0]) != allowed
    if writes or event.startswith(_REFUSED):
        os.write(2, f"refused: {event}\n".encode())
        os._exit(3)  # no handler of the pickle's gets a chance


def _is_writing(given: tuple[Any, ...]) -> bool:
    _, mode, flags = given
    return any(letter in (mode or "") for letter in "wax+") or bool(
        isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    )


def _bound_memory(room: int) -> None:
    """Let the process have so many bytes of address space beside those in use, where the system has such a bound."""
    try:
        import resource
    except ImportError:  # Windows
        return
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    wanted = room + _mapped(resource.getpagesize())
    bound = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    resource.setrlimit(resource.RLIMIT_AS, (bound, bound))


def _leave_network() -> None:
    """Go to a network of one's own, with nobody in it, where the system allows it; the guard stands in any case."""
    with contextlib.suppress(OSError, AttributeError, TypeError):  # TypeError: Windows has no library without a name
        ctypes.CDLL(None, use_errno=True).unshare(_NEW_USER | _NEW_NETWORK)


def _mapped(page: int) -> int:
    """Bytes of address space in use."""
    with contextlib.suppress(OSError, ValueError):
        return int(Path("/proc/self/statm").read_text().split()[0]) * page
    return 1 << 36


if __name__ == "__main__":
    _main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:5])
