"""Models from strangers: whatever a bundle or a foreign folder holds, it is loaded or refused, and nothing in it runs.

Changed files carry a manifest that fits them: a stranger can write one too.
"""

from __future__ import annotations

import json
import os
import pickle
import random
import shutil
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file

from dragoman import bundle as bundles
from dragoman.errors import FileError, UserError
from dragoman.files import MANIFEST, _write_manifest, verify
from dragoman.interop.importing import import_model
from dragoman.interop.unpickling import unpickled
from dragoman.text.build import TextSettings
from dragoman.text.words import WordSettings
from reference.bundles import bundle

MUTANTS = 60
WATCHED = ("pickle.find_class", "exec", "subprocess.", "os.system", "os.exec", "socket.", "os.posix_spawn")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("strangers") / "model"
    bundles.save(bundle(text=TextSettings(source=WordSettings())), folder)
    return folder


def resigned(folder):
    """The folder with a manifest that fits what it now holds."""
    (folder / MANIFEST).unlink()
    _write_manifest(folder)
    return folder


def mutated(data, generator):
    """The bytes with one thing wrong."""
    changed = bytearray(data)
    place = generator.randrange(len(changed))
    match generator.randrange(6):
        case 0:
            changed[place] ^= 1 << generator.randrange(8)
        case 1:
            changed[place : place + 64] = bytes(len(changed[place : place + 64]))
        case 2:
            del changed[place:]
        case 3:
            changed[place:place] = generator.randbytes(generator.randrange(1, 40))
        case 4:
            end = place + generator.randrange(1, 80)
            changed[place:place] = changed[place:end]
        case _:  # numbers that are far too large, where there are numbers
            digits = [i for i, byte in enumerate(changed[:4096]) if 0x30 <= byte <= 0x39]
            at = generator.choice(digits) if digits else place
            changed[at : at + 1] = b"999999999"
    return bytes(changed)


def survives(load, kept, copied, *, count, seed):
    """Load so many mutants of a folder; how many were refused. Anything but a user's error is a fault."""
    generator = random.Random(seed)
    refused = 0
    files = sorted(p.relative_to(kept) for p in kept.rglob("*") if p.is_file() and p.name != MANIFEST)
    for number in range(count):
        shutil.rmtree(copied, ignore_errors=True)
        shutil.copytree(kept, copied)
        chosen = copied / generator.choice(files)
        chosen.write_bytes(mutated(chosen.read_bytes(), generator))
        if (copied / MANIFEST).exists():
            resigned(copied)
        try:
            load(copied)
        except UserError:
            refused += 1
        except Exception as error:  # the test is that there is none
            raise AssertionError(f"mutant {number} of {chosen.name}: {error!r}") from error
    return refused


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 20))])
def test_mutated_bundles_are_loaded_or_refused(model, tmp_path, seed):
    refused = survives(bundles.load, model, tmp_path / "copy", count=MUTANTS, seed=seed)
    assert refused > MUTANTS / 4, "most of what is wrong in settings and tables of contents is found"


@pytest.mark.parametrize(
    "name", ["model.json", "model.safetensors", "tokenizer/vocabulary.json", "tokenizer/tokenizer.json"]
)
def test_what_does_not_fit_its_manifest_is_refused(model, tmp_path, name):
    """Of a bundle that was not signed anew every single change is found."""
    generator = random.Random(name)
    data = (model / name).read_bytes()
    for _ in range(20):
        shutil.rmtree(tmp_path / "copy", ignore_errors=True)
        shutil.copytree(model, tmp_path / "copy")
        changed = mutated(data, generator)
        if changed == data:
            continue
        (tmp_path / "copy" / name).write_bytes(changed)
        with pytest.raises(FileError):
            bundles.load(tmp_path / "copy")


@pytest.mark.parametrize(
    "change",
    [
        {"encoder_layers": 10**9},
        *(
            pytest.param(each, marks=pytest.mark.slow)
            for each in (
                {"size": 10**9},
                {"feedforward": {"size": 10**12}},
                {"positions": {"kind": "learned", "longest": 10**13}},
                {"_target_": "os.system"},
                {"kind": "os.system"},
            )
        ),
    ],
)
def test_sizes_are_compared_before_anything_is_made(model, tmp_path, change):
    shutil.copytree(model, tmp_path / "copy")
    told = json.loads((model / "model.json").read_text())
    told["model"] |= change
    (tmp_path / "copy" / "model.json").write_text(json.dumps(told))
    program = (
        "import resource, sys; from pathlib import Path\n"
        "from dragoman import bundle; from dragoman.errors import UserError\n"
        "room = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize() + (1 << 30)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (room, room)); resource.setrlimit(resource.RLIMIT_CPU, (20, 20))\n"
        "try: bundle.load(Path(sys.argv[1]))\n"
        "except UserError as error: print(error); sys.exit(2)\n"
    )
    command = [sys.executable, "-c", program, str(resigned(tmp_path / "copy"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr[-600:]


class Planted:
    """Touches a file when it is unpickled."""

    def __init__(self, canary):
        self.canary = canary

    def __reduce__(self):
        return os.system, (f"touch {self.canary}",)


def test_a_planted_pickle_touches_nothing(model, tmp_path):
    """Neither under a name that is looked for, nor in place of the weights, nor as a foreign model's weights."""
    canary = tmp_path / "canary"
    planted = pickle.dumps({"a": Planted(canary)})
    shutil.copytree(model, tmp_path / "copy")
    (tmp_path / "copy" / "model.safetensors").write_bytes(planted)
    with pytest.raises(UserError):
        bundles.load(resigned(tmp_path / "copy"))
    torch.save({"a": torch.zeros(2)}, tmp_path / "good.bin")
    unpickled(tmp_path / "good.bin", tmp_path / "good.safetensors")
    assert load_file(tmp_path / "good.safetensors")["a"].tolist() == [0, 0]
    for name, data in (("plain.bin", planted), ("cut.bin", (tmp_path / "good.bin").read_bytes()[:60])):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(FileError, match="more than weights, or is damaged"):
            unpickled(tmp_path / name, tmp_path / "bad.safetensors")
    torch.save({"a": torch.zeros(2), "b": Planted(canary)}, tmp_path / "mixed.bin")
    with pytest.raises(FileError, match="more than weights"):
        unpickled(tmp_path / "mixed.bin", tmp_path / "bad.safetensors")
    assert not canary.exists()
    assert not (tmp_path / "bad.safetensors").exists()


@pytest.mark.parametrize(
    "deed",
    [
        "import socket; socket.socket()",
        *(
            pytest.param(each, marks=pytest.mark.slow)
            for each in (
                "import os; os.system('true')",
                "import subprocess; subprocess.Popen(['true'])",
                "open('elsewhere', 'w')",
                "import os; os.remove('kept')",
            )
        ),
    ],
)
def test_even_if_the_restricted_reader_were_broken(tmp_path, deed):
    """The child's guard, with torch's reader replaced by one that runs what it is given."""
    (tmp_path / "kept").touch()
    (tmp_path / "weights.bin").touch()
    program = (
        "import sys, torch; from pathlib import Path; from dragoman.interop import unpickling\n"
        f"def broken(*args, **more): exec({deed!r}); return {{}}\n"
        "torch.load = broken\n"
        "unpickling._main(Path('weights.bin'), Path('out.safetensors'), '')\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 3, done.stderr[-600:]
    assert "refused: " in done.stderr
    assert (tmp_path / "kept").exists()
    assert not (tmp_path / "elsewhere").exists()


def test_links_and_names_outside_the_folder_are_refused(model, tmp_path):
    shutil.copytree(model, tmp_path / "linked")
    (tmp_path / "linked" / "model.json").unlink()
    (tmp_path / "linked" / "model.json").symlink_to(model / "model.json")
    with pytest.raises(FileError):
        bundles.load(tmp_path / "linked")
    shutil.copytree(model, tmp_path / "outside")
    manifest = json.loads((tmp_path / "outside" / MANIFEST).read_text())
    manifest["files"]["../model.json"] = manifest["files"]["model.json"]
    (tmp_path / "outside" / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(FileError):
        verify(tmp_path / "outside")


def test_loading_runs_imports_and_opens_nothing_of_the_models(model, tmp_path):
    """What Python reports of a process that loads a mutant and one that is whole."""
    program = (
        "import sys; from pathlib import Path; from dragoman import bundle, errors\n"
        "bundle.load(Path(sys.argv[1]))\n"  # whatever is imported late is imported now
        f"seen = []; sys.addaudithook(lambda event, _: event.startswith({WATCHED!r}) and seen.append(event))\n"
        "for name in sys.argv[1:]:\n"
        "    try: bundle.load(Path(name))\n"
        "    except errors.UserError: pass\n"
        "print(seen)\n"
    )
    shutil.copytree(model, tmp_path / "copy")
    (tmp_path / "copy" / "model.safetensors").write_bytes(pickle.dumps(Planted(tmp_path / "canary")))
    command = [sys.executable, "-c", program, str(model), str(resigned(tmp_path / "copy"))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    assert not (tmp_path / "canary").exists()


def test_mutated_folders_of_transformers_are_imported_or_refused(tmp_path, monkeypatch):
    """Without the original to compare with: what it would make of a mutant is its own affair."""
    pytest.importorskip("transformers", reason="needs transformers to make a model")
    from dragoman.interop.huggingface import reading
    from reference import huggingface as made

    monkeypatch.setattr(reading, "available", lambda: False)
    for number, kind in enumerate(("marian", "bart", "t5")):
        made.save(kind, tmp_path / kind)

        def bring(folder):
            shutil.rmtree(tmp_path / "out", ignore_errors=True)
            import_model(folder, out=tmp_path / "out")

        assert survives(bring, tmp_path / kind, tmp_path / "copy", count=12, seed=number) > 0


def test_mutated_folders_of_marian_are_imported_or_refused(tmp_path):
    from reference.checkpoints import Marian

    def bring(folder):
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        import_model(folder, out=tmp_path / "out")

    Marian().save(tmp_path / "marian", beam_size=6)
    assert survives(bring, tmp_path / "marian", tmp_path / "copy", count=60, seed=1) > 10


def test_weights_that_nobody_asks_for_are_refused(tmp_path):
    pytest.importorskip("transformers", reason="needs transformers to make a model")
    from reference import huggingface as made

    folder = made.save("bart", tmp_path / "bart")
    weights = load_file(folder / "model.safetensors")
    save_file({**weights, "extra.weight": torch.zeros(3)}, folder / "model.safetensors")
    with pytest.raises(UserError, match="does not have: extra"):
        import_model(folder, out=tmp_path / "out")
