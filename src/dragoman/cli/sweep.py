"""The verb `sweep`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import console, corpora
from dragoman.errors import DONE_WITH_SKIPS

if TYPE_CHECKING:
    from dragoman.recipe.sweep.effects import Effect
    from dragoman.recipe.sweep.sweep import Sweep
    from dragoman.recipe.sweep.trials import Found

_SETS = ["architecture", "training", "text", "search"]


@click.command()
@click.argument("run_file", required=False, type=click.Path(dir_okay=False, path_type=Path), metavar="[RUN.toml]")
@click.option("--vary", multiple=True, metavar="KEY=VALUES", help="Try these values: KEY=V,V,V or KEY=LOW..HIGH.")
@click.option("--explore", multiple=True, type=click.Choice(_SETS), help="Vary a known set of settings.")
@click.option(
    "--method",
    type=click.Choice(["each", "grid", "random", "tune"]),
    help="One setting at a time (so without this), all combinations, or some: random, or near good ones (extra tune).",
)
@click.option("--trials", type=click.IntRange(min=1), help="Most runs in all.")
@click.option("--hours", type=click.FloatRange(min=0, min_open=True), help="Begin no run after so many hours.")
@click.option("--repeats", type=click.IntRange(min=1), help="Seeds for each choice, to tell chance apart: 1.")
@click.option("--points", type=click.IntRange(min=2), help="Values of a range that each and grid try: 3.")
@click.option("--seed", type=click.IntRange(min=0), help="Start of chance in what is tried: 1.")
@corpora.training_options
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path), help="Folder of it all.")
@corpora.set_option
@click.option("--fresh", is_flag=True, help="Start over, whatever the folder holds of an earlier sweep.")
@click.option("--dry-run", is_flag=True, help="Check everything, and list what would be tried.")
@corpora.json_option
def sweep(
    *, run_file: Path | None, vary: tuple[str, ...], explore: tuple[str, ...], out: Path, as_json: bool, **options: Any
) -> None:
    """Train many times with settings that differ, each time on the same data, and see which of them matter.

    What is varied is named with --vary, or by sets with --explore (without either: the architecture, as in Britz et
    al., 2017). --set is for what all runs have in common, such as fewer steps. Run again, it goes on from where it
    stopped; then the folder alone is enough.

    \b
      dragoman sweep run.toml --vary model.size=128,256,512 --vary model.cell=lstm,gru --out sweep
      dragoman sweep run.toml --vary training.optimizer.rate=0.0003..0.003 --method random --trials 12 --out sweep
      dragoman sweep run.toml --explore architecture --set training.steps=2000 --repeats 3 --hours 8 --out sweep
      dragoman sweep --src train.en --tgt train.fr --explore training --method tune --trials 30 --out sweep
    """  # noqa: D301 - click wants the character itself
    from dragoman.training.distributed import is_alone

    if not is_alone():
        raise click.UsageError("A sweep trains one run after the other in one process: start it without torchrun.")
    dry = options.pop("dry_run")
    made = _made(run_file, out, [*vary], [*explore], **options)
    if dry:
        _list(made, as_json=as_json)
        return
    found = _swept(made)
    if as_json:
        console.json({"folder": str(out), "model": str(made.model) if found.best else None, **_plain(found)})
    else:
        _print(found)
        if found.best:
            console.out(str(made.model))
    if any(each.problem for each in found.trials):
        click.get_current_context().exit(DONE_WITH_SKIPS)


def _made(run_file: Path | None, out: Path, vary: list[str], explore: list[str], **options: Any) -> Sweep:
    from dragoman.recipe.planned import written
    from dragoman.recipe.sweep.exploration import exploration
    from dragoman.recipe.sweep.space import parse, space_of
    from dragoman.recipe.sweep.sweep import Sweep, SweepSettings
    from dragoman.recipe.sweep.trials import kept_plan
    from dragoman.recipe.train import run_file_of

    given, fresh, assignments = corpora.named(run_file, options), options["fresh"], options["assignments"]
    base = written(run_file, out, assignments) if given is None else run_file_of(given, out, assignments, fresh=fresh)
    how = {name: options[name] for name in SweepSettings.__struct_fields__ if options[name] is not None}
    plan = None if fresh else kept_plan(out)
    if plan is not None:
        how = {"method": plan.method, "repeats": plan.repeats, "points": plan.points, "seed": plan.seed, **how}
    if plan is not None and not vary and not explore:
        space = plan.space
    else:
        wanted = dict(map(parse, vary))
        for name in explore or (() if vary else ("architecture",)):
            wanted = {**exploration(name, base.recipe), **wanted}  # type: ignore[arg-type] # click has checked the name
        space = space_of(wanted)
    return Sweep(base, out, space, SweepSettings(**how), fresh=fresh)


def _swept(made: Sweep) -> Found:
    """What was found, after each run was followed."""
    from dragoman.cli.follow import follow

    for attempt in made.attempts():
        console.note(f"\ntrial {attempt.number} of {made.planned}: {attempt.described}")
        if attempt.run is None:
            for _ in attempt.events():
                pass
        else:
            follow(attempt)
        if attempt.problem:
            console.warn(f"this trial came to nothing: {attempt.problem}")
    return made.found()


# ---- what is said --------------------------------------------------------------------------------------------------


def _list(made: Sweep, *, as_json: bool) -> None:
    choices = made.choices
    if as_json:
        console.json({"trials": made.planned, "choices": choices})
        return
    for number, point in enumerate(choices or (), start=1):
        console.out(f"{number:>4}  {_described(point)}")
    if choices is None:
        console.out(f"{made.planned} trials, each chosen when its turn comes; the first is the run file itself")


def _plain(found: Found) -> dict[str, Any]:
    import msgspec

    plain: dict[str, Any] = msgspec.to_builtins(found)
    return plain


def _print(found: Found) -> None:
    """The table of what mattered, best values first, and the best trials."""
    if found.mattered:
        console.table(("setting", "value", "trials", found.metric, "below the best"), _rows(found))
        console.out()
        for effect in found.mattered:
            console.out(_verdict(effect))
    if found.noise is not None:
        console.note(f"runs that differ in their seed alone: {found.noise:.2f} standard deviation")
    elif found.mattered:
        console.note("each choice was tried with one seed: small differences are chance (--repeats)")
    console.out()
    rows = [
        (t.number, _described(t.settings), t.seed, t.value, t.parameters, t.best_step, round(t.seconds))
        for t in found.ranked[:10]
    ]
    if rows:
        console.table(("trial", "settings", "seed", found.metric, "parameters", "update", "seconds"), rows)
    failed = [each for each in found.trials if each.problem]
    for each in failed:
        console.warn(f"trial {each.number} ({_described(each.settings)}) came to nothing: {each.problem}")
    if found.signature:
        console.note(f"{found.metric}, on the validation data: {found.signature}")


def _rows(found: Found) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for effect in found.mattered:
        best = effect.levels[0].mean
        for place, level in enumerate(effect.levels):
            value = _shown(level.value) + (" (run file)" if level.base else "")
            rows.append((effect.setting if place == 0 else "", value, level.trials, level.mean, abs(level.mean - best)))
    return rows


def _verdict(effect: Effect) -> str:
    share = "" if effect.share is None else f", {effect.share:.0%} of the variance"
    chance = {None: "", True: ", more than chance", False: ", perhaps chance"}[effect.clear]
    return f"{effect.setting}: {effect.span:.2f} between best and worst{share}{chance}"


def _described(point: dict[str, Any]) -> str:
    return ", ".join(f"{name}={_shown(value)}" for name, value in point.items()) or "as in the run file"


def _shown(value: Any) -> str:
    import msgspec

    match value:
        case str():
            return value
        case None:
            return "nothing"
        case dict():
            return str(value.get("kind", "a table"))
        case [low, high] if not isinstance(low, str):
            return f"{low:g} to {high:g}"
        case _:
            return msgspec.json.encode(value).decode()
