"""The options of a search, which `translate` and `generate` share, and what they mean together."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dragoman.decoding.build import DecodingSettings

_OWN = {
    "beam": ("beam", "alpha", "nbest"),
    "greedy": (),
    "sample": ("seed", "temperature", "top_k", "top_p", "nbest"),
    "exact": ("beam", "alpha", "nbest"),
    "mbr": ("seed", "temperature", "top_p", "nbest"),
}
"""What each search can be told by an option of its own; everything else by --set."""

_OPTIONS = (
    click.option("--greedy", is_flag=True, help="The most probable token at each step."),
    click.option("--beam", type=click.IntRange(1, 1000), metavar="N", help="N hypotheses side by side."),
    click.option("--sample", is_flag=True, help="Draw each token at random."),
    click.option("--exact", is_flag=True, help="The best output there is, proven where possible."),
    click.option("--mbr", type=click.IntRange(2, 10_000), help="Of so many samples the most typical."),
    click.option("--alpha", type=float, help="Exponent of the length normalisation (beam, exact)."),
    click.option("--temperature", type=float, help="Below 1 the probable becomes more so."),
    click.option("--top-k", type=int, metavar="K", help="Draw from the K most probable tokens (sample)."),
    click.option("--top-p", type=float, metavar="P", help="Draw from the smallest set that reaches P."),
    click.option("--seed", type=int, help="The same seed draws the same outputs (sample, mbr)."),
    click.option("--nbest", type=click.IntRange(min=1), metavar="N", help="N outputs for each line."),
    click.option("--max-length", type=click.IntRange(min=1), metavar="N", help="No output has more tokens than N."),
    click.option("--min-length", type=click.IntRange(min=0), metavar="N", help="No output has fewer tokens than N."),
    click.option("--set", "assignments", multiple=True, metavar="decoding.X=V", help="Any other setting."),
)

SEARCH_OPTIONS = (
    *("greedy", "beam", "sample", "exact", "mbr", "alpha", "temperature", "top_k", "top_p", "seed", "nbest"),
    *("max_length", "min_length", "assignments"),
)
"""The names under which a command gets the options."""


def decoding_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with the options of a search."""
    return reduce(lambda inner, option: option(inner), reversed(_OPTIONS), command)


def chosen_search(options: dict[str, Any], own: DecodingSettings | None = None) -> DecodingSettings:
    """The search that the options describe, which are taken out of the dictionary; what they leave open is the model's.

    A search of another kind than the model's `own` has its filters, and nothing else of it.
    """
    import msgspec

    from dragoman.decoding.beam import BeamSettings
    from dragoman.translator.requests import search_settings

    assignments: Sequence[str] = options.pop("assignments")
    lengths = {"most": options.pop("max_length"), "least": options.pop("min_length")}
    known = msgspec.to_builtins(own or BeamSettings())
    kind = _kind(options, default=known["kind"])
    given = {name: options.pop(name) for name in ("beam", "alpha", "temperature", "top_k", "top_p", "seed", "nbest")}
    samples = options.pop("mbr")
    named: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if (other := _assigned_kind(assignments)) is not None:
        kind = other  # which refuses what it cannot be told
    elif stray := [name for name in named if name not in _OWN.get(kind, named)]:
        option = f"--{stray[0].replace('_', '-')}"
        raise click.UsageError(f"{option} means nothing to a search of kind {kind!r}: leave it out.")
    if kind == "mbr" and samples is not None:
        named["samples"] = samples
    base = known if kind == known["kind"] else {"kind": kind, "filters": known["filters"]}
    if kind == "beam":
        named.setdefault("beam", max(base.get("beam", 5), named.get("nbest", 1)))
    bounds = {name: value for name, value in lengths.items() if value is not None}
    filters = {**base["filters"], "lengths": {**base["filters"]["lengths"], **bounds}}
    return search_settings({**base, **named, "filters": filters}, assignments)


def _assigned_kind(assignments: Sequence[str]) -> str | None:
    """The kind that an assignment names, if one does."""
    pairs = (each.partition("=") for each in assignments)
    kinds = [value.strip().strip("\"'") for key, _, value in pairs if key.strip() == "decoding.kind"]
    return kinds[-1] if kinds else None


def _kind(options: dict[str, Any], *, default: str) -> str:
    flags = [name for name in ("greedy", "sample", "exact") if options.pop(name)]
    kinds = flags + (["mbr"] if options["mbr"] is not None else [])
    if len(kinds) > 1:
        raise click.UsageError(f"--{kinds[0]} and --{kinds[1]} are different searches: choose one.")
    if kinds:
        return kinds[0]
    takes_beam = options["beam"] is None or "beam" in _OWN.get(default, ("beam",))
    return default if takes_beam else "beam"
