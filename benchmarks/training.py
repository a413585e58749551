"""How fast does `dragoman train` learn, beside a plain loop and beside transformers, on the same work?

Three models on Multi30k English-German, with batches of 4,096 tokens (padding included), dropout 0.1, label smoothing
0.1, Adam and clipping: a tiny Transformer (4+4 layers of 128), the base Transformer (6+6 of 512), and a recurrent model
(LSTM of 512, Luong's attention with input feeding), all with one joint vocabulary of 10,000. Ours is the whole of a run
as users start it: reading, batching, objective, optimizer, average, log. The others get their batches, which are ours,
ready-made, and leave out the average and the log. Every engine is a process of its own; all take turns, a few updates
each, so that whatever else the machine does strikes all of them, and medians over the turns are compared.

    python benchmarks/training.py                              everything: about twenty minutes on two quiet cores
    python benchmarks/training.py --models tiny --turns 2 --updates 3        to see that it works
    python benchmarks/training.py --quality 45                 minutes until validation BLEU passes 36 and 39 (tiny)
    python benchmarks/training.py --save                       keeps the result under benchmarks/results

Tokens are target tokens that are not padding. The share of the peak counts the products with weights alone, forward and
backward, at positions that are not padding, against a large product measured on this machine in the same format.
The plain LSTM decodes step by step, as input feeding asks for; there is none in transformers. OpenNMT-py, JoeyNMT and
Eole are left out: each wants an environment of its own.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import torch

    from dragoman.data.batch import Batch
    from dragoman.models.build import ModelSettings
    from dragoman.recipe.schema import Recipe

MODELS = ("tiny", "base", "lstm")
ENGINES = (
    "ours-float32",
    "ours-bfloat16",
    "plain-float32",
    "plain-bfloat16",
    "transformers-float32",
    "transformers-bfloat16",
)
REFERENCE = "plain-float32"
WANTED = {"tiny": 12_000, "base": 1_600, "lstm": 4_500}
"""Tokens per second, for the best of ours."""
MOST_MEGABYTES = {"tiny": 1.2 * 1024, "base": 3 * 1024}
WORDS, BATCH_TOKENS, DROPOUT, RATE = 10_000, 4096, 0.1, 1e-3
GOALS = (36.0, 39.0)
READY_MADE = 100
"""Batches that the peers go round in."""


# ---- the work ----------------------------------------------------------------------------------------------------


def settings_of(name: str) -> ModelSettings:
    """The model of a name."""
    from msgspec.structs import replace

    from dragoman.models import presets
    from dragoman.models.recurrence import RecurrentDropoutSettings
    from dragoman.models.rnn import RecurrentAttentionSettings, RecurrentSettings

    if name == "lstm":
        return RecurrentSettings(
            cell="lstm",
            size=512,
            encoder_size=256,
            attention=RecurrentAttentionSettings(score="general", input_feeding=True),
            dropout=RecurrentDropoutSettings(hidden=DROPOUT),
        )
    settings = presets.named(name)
    return replace(settings, dropout=replace(settings.dropout, hidden=DROPOUT))


def recipe_of(name: str, corpus: Path, *, precision: str, threads: int, **training: Any) -> Recipe:
    """A run of the model on the corpus."""
    from dragoman.data.corpus import DataSettings, TextFiles
    from dragoman.recipe.schema import Recipe
    from dragoman.text.build import TextSettings
    from dragoman.training.build import TrainingSettings
    from dragoman.training.optimizer import AdamW
    from dragoman.training.schedule import Constant

    train, valid = (
        TextFiles(source=str(corpus / f"{part}.en"), target=str(corpus / f"{part}.de")) for part in ("train", "val")
    )
    how: dict[str, Any] = {
        "steps": 1_000_000,
        "batch_tokens": BATCH_TOKENS,
        "optimizer": AdamW(rate=RATE),
        "schedule": Constant(warmup=0),
        "precision": precision,
        "threads": threads,
        "log_every": 1,
        "checkpoint_every": 1_000_000,
        "validate_every": 1_000_000,
        **training,
    }
    return Recipe(
        data=DataSettings(train=(train,), valid=valid),
        text=TextSettings(vocabulary_size=WORDS),
        model=how.pop("model", settings_of(name)),
        training=TrainingSettings(**how),
    )


def unpacked(data: Path, cache: Path) -> Path:
    """The folder of the lower-cased, tokenised corpus, as plain files."""
    folder = cache / "multi30k"
    folder.mkdir(parents=True, exist_ok=True)
    for part, language in itertools.product(("train", "val"), ("en", "de")):
        source = data / "multi30k" / "tok" / f"{part}.lc.norm.tok.{language}.gz"
        target = folder / f"{part}.{language}"
        if not target.exists():
            target.write_bytes(gzip.decompress(source.read_bytes()))
    return folder


def weights_in_products(name: str) -> tuple[int, int]:
    """Weights that each source position goes through, and each target position."""
    from dragoman.models.build import build

    model: Any = build(settings_of(name), target_vocabulary=WORDS, source_vocabulary=None)
    of_source = of_target = 0
    table = 0
    for key, parameter in model.named_parameters():
        if parameter.dim() != 2:
            continue
        if parameter.shape[0] == WORDS:
            table = parameter.numel()  # embeddings are looked up; the output layer, tied or not, is as large
        elif key.startswith("encoder.") or ".cross.memory." in key:
            of_source += parameter.numel()
        else:
            of_target += parameter.numel()
    return of_source, of_target + table


# ---- engines -----------------------------------------------------------------------------------------------------


class Engine(Protocol):
    """Makes updates of a model."""

    def __call__(self, updates: int) -> tuple[int, int, float]:
        """Source and target tokens that were learned from, and the loss of the last update."""
        ...


class Ours:
    """A run, of which each update's event is waited for."""

    def __init__(self, name: str, corpus: Path, folder: Path, *, precision: str, threads: int) -> None:
        from dragoman.recipe.run import run
        from dragoman.training.events import Progress

        self.kind = Progress
        self.events = run(recipe_of(name, corpus, precision=precision, threads=threads), folder, fresh=True)
        self.tokens = 0

    def __call__(self, updates: int) -> tuple[int, int, float]:
        before, loss = self.tokens, 0.0
        done = 0
        while done < updates:
            event = next(self.events)
            if isinstance(event, self.kind):
                self.tokens, loss, done = event.tokens, event.loss, done + 1
        return 0, self.tokens - before, loss


class Peer:
    """A loop as people write it: loss, backward, clipping, Adam."""

    def __init__(self, kind: str, name: str, corpus: Path, folder: Path, *, precision: str, threads: int) -> None:
        import torch

        torch.set_num_threads(threads)
        torch.manual_seed(1)
        recipe = recipe_of(name, corpus, precision=precision, threads=threads)
        self.batches = itertools.cycle(ready_made(recipe, folder))
        self.model, self.loss = peer(kind, name)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=RATE, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.0
        )
        self.autocast = torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16")

    def __call__(self, updates: int) -> tuple[int, int, float]:
        import torch

        source = target = 0
        loss: torch.Tensor | None = None
        for batch in itertools.islice(self.batches, updates):
            self.optimizer.zero_grad(set_to_none=True)
            with self.autocast:
                loss = self.loss(batch)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            source, target = source + batch.source_tokens, target + batch.target_tokens
        return source, target, 0.0 if loss is None else loss.item()


def ready_made(recipe: Recipe, folder: Path) -> list[Batch]:
    """The first batches of our own loader."""
    from dragoman.recipe.prepared import prepare_data, training_loader

    loader = training_loader(recipe, prepare_data(recipe, folder))
    batches = loader.batches()
    found = list(itertools.islice(batches, READY_MADE))
    batches.close()
    return found


def peer(kind: str, name: str) -> tuple[Any, Any]:
    """A model of the same size, and its loss of a batch."""
    from torch.nn import functional

    import models
    import models_recurrent
    from dragoman.models.build import build
    from dragoman.models.seq2seq import Source

    settings: Any = settings_of(name)
    if name == "lstm":
        model: Any = models_recurrent.Plain(settings, build(settings, target_vocabulary=WORDS)).train()

        def recurrent(batch: Batch) -> Any:
            logits = model(Source(batch.source_lengths_B, batch.source_ids_BS), batch.inputs_BT)
            return functional.cross_entropy(
                logits.flatten(0, 1), batch.labels_BT.flatten(), ignore_index=0, label_smoothing=0.1
            )

        return model, recurrent
    make = models.marian if kind == "transformers" else models.plain
    model, loss = make(settings, WORDS, smoothing=0.1)

    def of_batch(batch: Batch) -> Any:
        lengths = batch.source_lengths_B
        source = Source(lengths, batch.source_ids_BS)
        return loss(models.Batch(source, batch.source_ids_BS, batch.inputs_BT, batch.labels_BT, batch.target_lengths_B))

    return model.train(), of_batch


def engine_of(engine: str, name: str, corpus: Path, *, folder: Path, threads: int) -> Engine:
    """The engine, ready to make its first update."""
    kind, _, precision = engine.partition("-")
    if kind == "ours":
        return Ours(name, corpus, folder, precision=precision, threads=threads)
    return Peer(kind, name, corpus, folder, precision=precision, threads=threads)


# ---- processes ---------------------------------------------------------------------------------------------------


def serve(engine: str, name: str, corpus: Path, *, folder: Path, threads: int) -> None:
    """Answer each number of updates with what they took."""
    made = engine_of(engine, name, corpus, folder=folder, threads=threads)
    for line in sys.stdin:
        began, before = time.perf_counter(), time.process_time()
        source, target, loss = made(int(line))
        answer = {
            "seconds": time.perf_counter() - began,
            "processor": time.process_time() - before,
            "source": source,
            "target": target,
            "loss": loss,
            "resident": _memory("VmRSS"),
            "peak": _memory("VmHWM"),
        }
        print(json.dumps(answer), flush=True)


def _memory(what: str) -> int:
    """Megabytes that this process holds, or has held at most."""
    return int(re.search(rf"{what}:\s*(\d+)", Path("/proc/self/status").read_text()).group(1)) // 1024


@dataclass
class Process:
    """A process that serves an engine."""

    engine: str
    name: str
    corpus: Path
    folder: Path
    threads: int

    def __enter__(self) -> Self:
        command = [sys.executable, __file__, "--serve", self.engine, self.name, str(self.corpus), str(self.folder)]
        environment = {**os.environ, "OMP_NUM_THREADS": str(self.threads)}
        self.process = subprocess.Popen(
            [*command, str(self.threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stdin.close()
        self.process.wait()

    def made(self, updates: int) -> dict[str, Any]:
        """What so many updates took."""
        self.process.stdin.write(f"{updates}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"{self.engine} of {self.name} came to nothing: see above")
        return json.loads(answer)


def measured(
    name: str, corpus: Path, arguments: argparse.Namespace, peaks: dict[str, float]
) -> Iterator[dict[str, Any]]:
    """Figures of each engine for a model."""
    import contextlib

    engines = [each for each in arguments.engines if name != "lstm" or not each.startswith("transformers")]
    with contextlib.ExitStack() as stack:
        processes = [
            stack.enter_context(
                Process(each, name, corpus, arguments.cache / f"{name}-{each}", threads=arguments.threads)
            )
            for each in engines
        ]
        for process in processes:
            process.made(arguments.warm_up)
        turns = [[process.made(arguments.updates) for process in processes] for _ in range(arguments.turns)]
    speeds = {engine: [turn[i]["target"] / turn[i]["seconds"] for turn in turns] for i, engine in enumerate(engines)}
    reference = statistics.median(speeds.get(REFERENCE, next(iter(speeds.values()))))
    of_source, of_target = weights_in_products(name)
    shares = [turn[i]["source"] / turn[i]["target"] for turn in turns for i in range(len(engines)) if turn[i]["source"]]
    operations = 6 * (of_target + of_source * statistics.mean(shares or [1.0]))
    for i, engine in enumerate(engines):
        speed = statistics.median(speeds[engine])
        yield {
            "model": name,
            "engine": engine,
            "tokens_per_second": round(speed),
            "slowest_turn": round(min(speeds[engine])),
            "fastest_turn": round(max(speeds[engine])),
            "to_plain": round(speed / reference, 2),
            "of_peak": round(speed * operations / 1e9 / peaks[engine.partition("-")[2]], 3),
            "peak_megabytes": turns[-1][i]["peak"],
            "growth_megabytes": turns[-1][i]["resident"] - turns[0][i]["resident"],
            "loss": round(turns[-1][i]["loss"], 3),
        }


# ---- time to quality ---------------------------------------------------------------------------------------------


def quality(corpus: Path, folder: Path, *, minutes: float, threads: int, precision: str) -> list[dict[str, Any]]:
    """Validation BLEU of the tiny model over the minutes of a whole run, validations included."""
    from msgspec.structs import replace

    from dragoman import bundle as bundles
    from dragoman.decoding.greedy import GreedySettings
    from dragoman.measures.metrics import measure
    from dragoman.models import presets
    from dragoman.recipe.run import run
    from dragoman.training.events import Validated
    from dragoman.training.optimizer import AdamW
    from dragoman.training.schedule import InverseSquareRoot
    from dragoman.translator import load

    model = presets.named("tiny")
    recipe = recipe_of(
        "tiny",
        corpus,
        precision=precision,
        threads=threads,
        model=replace(model, dropout=replace(model.dropout, hidden=0.3)),
        optimizer=AdamW(rate=5e-3),
        schedule=InverseSquareRoot(warmup=2000),
        log_every=50,
        validate_every=500,
        checkpoint_every=500,
        patience=None,
    )
    sources, references = ((corpus / f"val.{language}").read_text().splitlines() for language in ("en", "de"))
    rows, aside, began = [], 0.0, time.perf_counter()
    for event in run(recipe, folder, fresh=True):
        spent = (time.perf_counter() - began - aside) / 60
        if isinstance(event, Validated) and event.best:
            before = time.perf_counter()
            assert bundles.describe(folder / "best").training.steps == event.step
            outputs = load(folder / "best").translate(sources, decoding=GreedySettings())
            found = measure("bleu", [each.text for each in outputs], references, tokenize="none")
            rows.append({"minutes": round(spent, 1), "update": event.step, "bleu": round(found.value, 2)})
            print(f"{spent:6.1f} minutes  update {event.step:6,}  {found}", flush=True)
            aside += time.perf_counter() - before
        if spent > minutes or (rows and rows[-1]["bleu"] >= GOALS[-1]):
            break
    for goal in GOALS:
        reached = next((row["minutes"] for row in rows if row["bleu"] >= goal), None)
        print(f"BLEU {goal:g}: {'not reached' if reached is None else f'after {reached} minutes'}")
    return rows


# ---- all of it ---------------------------------------------------------------------------------------------------


def short(rows: Sequence[dict[str, Any]]) -> list[str]:
    """What is below what is wanted."""
    found = []
    for name in dict.fromkeys(row["model"] for row in rows):
        ours = [row for row in rows if row["model"] == name and row["engine"].startswith("ours")]
        if ours and (best := max(row["tokens_per_second"] for row in ours)) < WANTED[name]:
            found.append(f"{name}: {best:,} tokens per second, {WANTED[name]:,} are wanted")
        least = min((row["peak_megabytes"] for row in ours), default=0)
        if least > MOST_MEGABYTES.get(name, least):
            found.append(f"{name}: {least:,} MB at the peak, at most {MOST_MEGABYTES[name]:,.0f} are wanted")
    return found


def main() -> int:
    """Measure and print; 1 if ours is below what is wanted."""
    if sys.argv[1:2] == ["--serve"]:
        engine, name, corpus, folder, threads = sys.argv[2:]
        serve(engine, name, Path(corpus), folder=Path(folder), threads=int(threads))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--turns", type=int, default=7, help="turns that each engine has")
    parser.add_argument("--updates", type=int, default=4, help="updates in a turn")
    parser.add_argument("--warm-up", type=int, default=6, help="updates before anything is measured")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--quality", type=float, metavar="MINUTES", help="time to quality instead, at most so long")
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="float32", help="for --quality")
    parser.add_argument("--data", type=Path, default=os.environ.get("DRAGOMAN_DATA"), help="folder of datasets")
    parser.add_argument("--cache", type=Path, default=Path("/tmp/dragoman-benchmark-training"))  # noqa: S108 - may be deleted at any time
    parser.add_argument("--save", action="store_true", help="keep the result, with today's date")
    arguments = parser.parse_args()
    if arguments.data is None:
        print("skipped: name the folder of datasets by --data or DRAGOMAN_DATA")
        return 0
    import record

    corpus = unpacked(Path(arguments.data), arguments.cache)
    if arguments.quality:
        folder = arguments.cache / "quality"
        rows = quality(
            corpus, folder, minutes=arguments.quality, threads=arguments.threads, precision=arguments.precision
        )
        if arguments.save:
            figures = {"precision": arguments.precision, "threads": arguments.threads, "rows": rows}
            record.save("training-quality", figures)
        return 0
    from dragoman.devices import measure_peak, set_threads

    set_threads(arguments.threads)
    peaks = {each: measure_peak(each) for each in ("float32", "bfloat16")}
    print(", ".join(f"{each}: {peak:,.0f} GFLOP/s in a large product" for each, peak in peaks.items()))
    rows = []
    for name in arguments.models:
        for row in measured(name, corpus, arguments, peaks):
            rows.append(row)
            print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    if arguments.save:
        figures = {name: getattr(arguments, name) for name in ("turns", "updates", "warm_up", "threads")}
        record.save("training", {**figures, "peak_gflops": {k: round(v) for k, v in peaks.items()}, "rows": rows})
    for each in (below := short(rows)):
        print(f"below what is wanted: {each}")
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main())
