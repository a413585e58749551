"""What kind of text a file holds, judged by its looks: scores of different kinds must not be compared."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_LEAST_LINES = 10
"""Fewer lines than this say nothing about a file."""

_SPACED = re.compile(r"(?:^|\s)[.,](?:\s|$)")
"""A lone full stop or comma. No spelling sets a space before these two, while French does before ! ? : ;."""
_ATTACHED = re.compile(r"\w[.,](?:\s|$)")
_SUBWORDS = re.compile(r"@@ |(?:^|\s)\u2581")
_ESCAPED = re.compile(r"&(?:apos|quot|amp|lt|gt|#91|#93|#124);")


@dataclass(frozen=True, slots=True)
class Looks:
    """What the lines of a text have in common."""

    tokenized: bool
    """Punctuation stands alone, between spaces."""
    subwords: bool
    """Words are still cut into pieces."""
    escaped: bool
    """Characters are spelled as entities, as Moses does."""
    lowercased: bool
    """There are letters that could be capitals, and none is."""


def looks_of(lines: Sequence[str]) -> Looks:
    """What a text looks like; nothing stands out where it is too short to tell."""
    told = len(lines) >= _LEAST_LINES
    spaced = sum(bool(_SPACED.search(line)) for line in lines)
    attached = sum(bool(_ATTACHED.search(line)) for line in lines)
    return Looks(
        tokenized=told and spaced > attached and spaced >= _LEAST_LINES // 2,
        subwords=told and 2 * sum(bool(_SUBWORDS.search(line)) for line in lines) > len(lines),
        escaped=told and any(_ESCAPED.search(line) for line in lines),
        lowercased=told and any(_has_small_letters(line) for line in lines) and all(map(_has_no_capitals, lines)),
    )


def warnings_for(
    hypotheses: Sequence[str], references: Sequence[str], *, expects_tokens: bool, ignores_case: bool
) -> tuple[str, ...]:
    """What a reader must know before he compares this score with another."""
    found, gold = looks_of(hypotheses), looks_of(references)
    said = []
    if found.subwords:
        said.append("The hypotheses look as if their words were still cut into pieces: join the pieces first.")
    if found.tokenized != gold.tokenized:
        tokenized, plain = ("hypotheses", "references") if found.tokenized else ("references", "hypotheses")
        said.append(f"The {tokenized} look tokenised and the {plain} do not: the score is too low.")
    elif found.tokenized and not expects_tokens:
        said.append(
            "The text looks tokenised, and this metric wants plain text: detokenise both sides, or ask for "
            "tokenized_bleu and compare it with its like only."
        )
    elif expects_tokens and _has_attached(hypotheses):
        said.append("The text does not look tokenised, and this metric takes it as it is: ask for bleu instead.")
    if found.escaped != gold.escaped:
        side = "hypotheses" if found.escaped else "references"
        said.append(f"The {side} alone hold entities such as &apos;: turn them back into characters.")
    if not ignores_case:
        said.extend(_on_case(found, gold))
    return tuple(said)


def _on_case(found: Looks, gold: Looks) -> list[str]:
    if found.lowercased and gold.lowercased:
        return ["The text is all in lower case: not to be compared with scores of cased text."]
    if found.lowercased != gold.lowercased:
        side = "hypotheses" if found.lowercased else "references"
        return [f"The {side} are all in lower case and the other side is not: the score is too low."]
    return []


def _has_attached(lines: Sequence[str]) -> bool:
    return len(lines) >= _LEAST_LINES and 2 * sum(bool(_ATTACHED.search(line)) for line in lines) > len(lines)


def _has_small_letters(line: str) -> bool:
    return line.upper() != line


def _has_no_capitals(line: str) -> bool:
    return line.lower() == line
