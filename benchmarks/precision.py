"""What do fewer bits and short-lists cost a trained model, and what do they gain?

One process translates the same lines with the same model in every number format, with and without short-lists, in
turns, so that the ratios hold on a busy machine too. For each the quality against references, the outputs that differ
from those in float32, and the outputs that change with what shares their batch.

    python benchmarks/precision.py MODEL test.en test.fr
    python benchmarks/precision.py MODEL test.en test.fr --pairs train.en train.fr --short-lists 50 100
    python benchmarks/precision.py MODEL test.en test.fr --lines 50 --rounds 1
"""

from __future__ import annotations

import argparse
import itertools
import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from dragoman import bundle as bundles
from dragoman.decoding.beam import BeamSettings
from dragoman.measures.metrics import measure
from dragoman.translator import Batching, Request, Translator
from dragoman.translator.loading import bundle_folder
from dragoman.translator.short_list import with_short_list

if TYPE_CHECKING:
    from dragoman.bundle import Bundle
    from dragoman.devices import NumberFormat
    from dragoman.translator import Translation

FORMATS = ("float32", "bfloat16", "int8")


@dataclass
class Way:
    """A number format and a length of the short-list, and what was found."""

    bundle: Bundle
    precision: NumberFormat
    short_list: int
    seconds: float = float("inf")
    found: tuple[Translation, ...] = ()

    def translator(self, places: int = 64) -> Translator:
        """A translator that works on so many sentences at once."""
        batching = Batching(places=places)
        return Translator(self.bundle, device=torch.device("cpu"), precision=self.precision, batching=batching)

    def translated(self, by: Translator, texts: list[str], beam: int) -> list[Translation]:
        """The translations of texts."""
        return by.translate(texts, decoding=BeamSettings(beam=beam), request=Request(short_list=self.short_list))

    def measure(self, by: Translator, texts: list[str], beam: int) -> None:
        """Translate once more; the quickest round counts."""
        began = time.perf_counter()
        self.found = tuple(self.translated(by, texts, beam))
        self.seconds = min(self.seconds, time.perf_counter() - began)


def depending(way: Way, texts: list[str], beam: int) -> tuple[int, float]:
    """How many outputs change with what shares their batch, and by how much scores of the others do."""
    changed: set[int] = set()
    worst = 0.0
    for seed, places in enumerate((1, 7, 64)):
        order = list(range(len(texts)))
        random.Random(seed).shuffle(order)
        again = way.translated(way.translator(places), [texts[i] for i in order], beam)
        for place, other in zip(order, again, strict=True):
            first = way.found[place]
            if other.text != first.text:
                changed.add(place)
            else:
                worst = max(worst, abs(other.score - first.score))
    return len(changed), worst


def lines(path: Path) -> list[str]:
    """The lines of a text file."""
    return path.read_text(encoding="utf-8").splitlines()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("model", "source", "reference"):
        parser.add_argument(name, type=Path, nargs="?")
    parser.add_argument("--pairs", nargs=2, type=Path, help="training pairs from which a short-list is learned")
    parser.add_argument("--short-lists", nargs="+", type=int, default=[100], help="lengths that are tried")
    parser.add_argument("--beams", nargs="+", type=int, default=[1, 5])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--lines", type=int, help="only the first lines")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--save", action="store_true", help="keep the result, with today's date")
    arguments = parser.parse_args()
    if arguments.reference is None:
        print("skipped: name a trained model, a file of sources and one of references")
        return
    torch.set_num_threads(arguments.threads)
    texts, references = (lines(each)[: arguments.lines] for each in (arguments.source, arguments.reference))
    bundle = bundles.load(bundle_folder(arguments.model))
    if arguments.pairs is not None:
        bundle = with_short_list(bundle, *map(lines, arguments.pairs))
    lists = [0, *(arguments.short_lists if bundle.short_list is not None else [])]
    rows, signature = [], ""
    for beam in arguments.beams:
        ways = [Way(bundle, precision, count) for precision, count in itertools.product(FORMATS, lists)]
        translators = [way.translator() for way in ways]
        for way, by in zip(ways, translators, strict=True):
            way.translated(by, texts[:4], beam)
        for _ in range(arguments.rounds):
            for way, by in zip(ways, translators, strict=True):
                way.measure(by, texts, beam)
        plain = ways[0]
        for way in ways:
            score = measure("bleu", [each.text for each in way.found], references)
            changed, worst = depending(way, texts, beam)
            row = {
                "beam": beam,
                "precision": way.precision,
                "short_list": way.short_list,
                "bleu": round(score.value, 2),
                "differ_from_float32": sum(a.text != b.text for a, b in zip(way.found, plain.found, strict=True)),
                "change_with_batch": changed,
                "largest_change_of_score": float(f"{worst:.1e}"),
                "sentences_per_second": round(len(texts) / way.seconds, 1),
                "times_float32": round(plain.seconds / way.seconds, 2),
            }
            signature = score.signature
            rows.append(row)
            print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    print(signature)
    if arguments.save:
        import record

        facts = {"model": str(arguments.model), "signature": signature, "lines": len(texts), "rows": rows}
        record.save("precision", facts)


if __name__ == "__main__":
    main()
