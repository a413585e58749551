"""`dragoman doctor`: what this machine can do, and what is wrong with it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from dragoman.cli import console
from dragoman.errors import DONE, DONE_WITH_SKIPS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dragoman.cli.doctor_facts import Facts, Package

_GIB = 1 << 30


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of lines of text.")
@click.option("--measure/--no-measure", default=True, help="Measure the speed of processor and disk (a few seconds).")
@click.pass_context
def doctor(context: click.Context, *, as_json: bool, measure: bool) -> None:
    """What this machine can do, what is wrong with it, and what to do about it.

    Ends with 3 when something stands in the way of using the program, with 0 otherwise.
    """
    from dragoman.cli import doctor_advice, doctor_facts

    facts = doctor_facts.gather(measure=measure)
    remarks = doctor_advice.remarks(facts)
    if as_json:
        console.json({**asdict(facts), "remarks": [asdict(remark) for remark in remarks]})
    else:
        for label, text in _lines(facts):
            console.out(f"{label:<11} {text}".rstrip())
        console.out()
        for remark in remarks:
            console.out(f"{remark.level}: {remark.what}\n         {remark.remedy}")
        if not remarks:
            console.out("Nothing is wrong.")
    context.exit(DONE_WITH_SKIPS if any(remark.level == "problem" for remark in remarks) else DONE)


def _lines(facts: Facts) -> Iterator[tuple[str, str]]:
    """Each line of the report: its label and its text."""
    processor, memory, disk, sets = facts.processor, facts.memory, facts.disk, facts.sets
    yield "dragoman", f"{facts.dragoman}, Python {facts.python}, {facts.system}"
    yield "processor", f"{processor.name} ({processor.architecture}): {', '.join(processor.features) or 'plain'}"
    yield "cores", f"{processor.cores} to use, {processor.logical} logical in all"
    peaks = ", ".join(f"{name} {peak:,.0f}" for name, peak in facts.peaks.items() if peak is not None)
    yield "peaks", f"{peaks} billion operations a second" if peaks else "not measured"
    yield "memory", f"{memory.available / _GIB:.1f} GiB free of {memory.total / _GIB:.1f}"
    free = "unknown" if disk.free is None else f"{disk.free / _GIB:.1f} GiB free"
    speed = "" if disk.speed is None else f", writes {disk.speed / 1e6:,.0f} MB a second"
    yield "disk", f"{free} in {disk.folder}{speed}"
    yield "torch", _torch_text(facts)
    yield "packages", ", ".join(_package_text(package) for package in facts.packages if not package.extra)
    for extra in sorted({package.extra for package in facts.packages} - {""}):
        inside = [_package_text(package) for package in facts.packages if package.extra == extra]
        yield f"[{extra}]", ", ".join(inside)
    if sets.local is not None:
        yield "data", f"DRAGOMAN_DATA={sets.local}: {', '.join(sets.local_sets) or 'no known set'}"
    else:
        yield "data", "DRAGOMAN_DATA is not set"
    yield "cache", f"{sets.cache}: {', '.join(sets.cached) or 'empty'}"


def _torch_text(facts: Facts) -> str:
    torch = facts.torch
    if torch is None:
        return "not installed"
    if torch.fault:
        return f"{torch.version}, broken"
    found = [f"{gpu.kind} {gpu.name} ({gpu.memory / _GIB:.0f} GiB)" for gpu in torch.accelerators]
    return f"{torch.version}, built for {torch.built_for}, {torch.threads} threads; GPUs: {', '.join(found) or 'none'}"


def _package_text(package: Package) -> str:
    return f"{package.name} {package.installed or 'missing'}{' (too old)' if package.old else ''}"
