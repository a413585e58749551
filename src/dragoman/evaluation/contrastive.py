"""Contrastive sets: does the model find the right output more probable than a wrong one that differs in one thing?

What is compared is the log-probability of the whole output; with `per_token` its mean over the tokens, where right and
wrong ones differ in length.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from importlib.metadata import version
from statistics import NormalDist
from typing import TYPE_CHECKING

import msgspec

from dragoman.errors import DataError
from dragoman.evaluation.significance import Interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dragoman.translator import Score, Translator


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """A source, its right output, and wrong ones."""

    source: str
    right: str
    wrong: tuple[str, ...]
    label: str = ""
    """The class it belongs to."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How often the right output was the most probable one."""

    label: str
    """The class; empty for all together."""
    right: int
    count: int
    interval: Interval
    """Wilson's, in percent."""
    signature: str
    """How right and wrong outputs were compared, and how sure the interval is."""

    @property
    def value(self) -> float:
        """In percent."""
        return 100 * self.right / self.count


class _Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of a JSONL file."""

    source: str = ""
    right: str
    wrong: str | tuple[str, ...]
    label: str = msgspec.field(name="class", default="")


def read_tsv(lines: Iterable[str], *, place: str) -> Iterator[Contrast]:
    """Contrasts from lines of source, right, wrong and, if there is a fourth column, class."""
    for number, line in enumerate(lines, 1):
        fields = line.split("\t")
        if len(fields) not in (3, 4):
            raise DataError(
                f"{len(fields)} columns instead of source, right, wrong and perhaps class",
                place=f"{place}:{number}",
                remedy="Separate three or four columns by tabs, or use JSON lines.",
            )
        yield _checked(
            Contrast(source=fields[0], right=fields[1], wrong=(fields[2],), label="".join(fields[3:])), place, number
        )


def read_jsonl(lines: Iterable[str], *, place: str) -> Iterator[Contrast]:
    """Contrasts from objects with `source`, `right`, `wrong` (a text, or a list of them) and perhaps `class`."""
    for number, line in enumerate(lines, 1):
        try:
            found = msgspec.json.decode(line, type=_Line)
        except msgspec.MsgspecError as error:
            raise DataError(
                f"not a contrast: {error}",
                place=f"{place}:{number}",
                remedy='Write {"source": …, "right": …, "wrong": …, "class": …}, the class if there is one.',
            ) from None
        wrong = (found.wrong,) if isinstance(found.wrong, str) else found.wrong
        yield _checked(Contrast(source=found.source, right=found.right, wrong=wrong, label=found.label), place, number)


def _checked(contrast: Contrast, place: str, number: int) -> Contrast:
    if not contrast.wrong or contrast.right in contrast.wrong:
        problem = "the right output is among the wrong ones" if contrast.wrong else "there is no wrong output"
        raise DataError(problem, place=f"{place}:{number}", remedy="Give wrong outputs that differ from the right one.")
    return contrast


def accuracies(
    translator: Translator, contrasts: Sequence[Contrast], *, per_token: bool = False, level: float = 0.05
) -> tuple[Accuracy, ...]:
    """Accuracy over all contrasts, and over each class, in the order of their names, where there are classes."""
    if not contrasts:
        raise DataError("there are no contrasts", place="--contrastive", remedy="Give at least one line.")
    won = preferred(translator, contrasts, per_token=per_token)
    by = "mean" if per_token else "sum"
    signature = f"log_prob:{by}|ties:lost|interval:wilson|level:{level:g}|dragoman:{version('dragoman')}"
    by_label: defaultdict[str, list[bool]] = defaultdict(list)
    for contrast, right in zip(contrasts, won, strict=True):
        if contrast.label:
            by_label[contrast.label].append(right)
    groups = [("", won), *sorted(by_label.items())]
    return tuple(
        Accuracy(label, sum(each), len(each), wilson(sum(each), len(each), level=level), signature)
        for label, each in groups
    )


def preferred(translator: Translator, contrasts: Sequence[Contrast], *, per_token: bool = False) -> list[bool]:
    """For each contrast, whether the right output beats every wrong one; a tie is lost."""
    targets = [text for each in contrasts for text in (each.right, *each.wrong)]
    sources = [each.source for each in contrasts for _ in range(1 + len(each.wrong))]
    scores = iter(translator.score(sources if translator.has_source else None, targets))
    value = _per_token if per_token else _whole
    found = []
    for each in contrasts:
        right = value(next(scores))
        found.append(right > max(value(next(scores)) for _ in each.wrong))
    return found


def wilson(right: int, count: int, *, level: float = 0.05) -> Interval:
    """Wilson's interval of a share, in percent: it holds at 0 and 100 too, where the usual one has no width."""
    z = NormalDist().inv_cdf(1 - level / 2)
    share = right / count
    middle = share + z * z / (2 * count)
    width = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    scale = 100 / (1 + z * z / count)
    return Interval(max(0.0, scale * (middle - width)), min(100.0, scale * (middle + width)))


def _whole(score: Score) -> float:
    return score.log_prob


def _per_token(score: Score) -> float:
    return score.log_prob / len(score.tokens)
