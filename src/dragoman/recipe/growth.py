"""A trained model with larger vocabularies: its old rows as they were, new ones from what they were spelled with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import torch

from dragoman.bundle import Bundle, build_model, load_weights, weights
from dragoman.text.vocabulary import SPECIAL, UNK

if TYPE_CHECKING:
    from torch import Tensor

    from dragoman.bundle import Description
    from dragoman.text.build import Tokenizers
    from dragoman.text.tokenizer import Tokenizer

_TAG = "<2"
"""How the symbols that ask for a language begin."""


@dataclass(frozen=True, slots=True)
class _Side:
    """The vocabulary of one side, before and after."""

    old: Tokenizer
    new: Tokenizer

    def origins(self) -> list[list[int]]:
        """For each new piece the old ones whose rows it starts from."""
        before, pieces = len(self.old.vocabulary), self.new.vocabulary.pieces
        tags = [self.old.vocabulary[s] for s in self.old.vocabulary.symbols if s.startswith(_TAG)]
        everything = list(range(len(SPECIAL), before))
        found = []
        for number in range(before, len(pieces)):
            is_symbol = pieces[number] in self.new.vocabulary.symbols
            spelled = tags if is_symbol else [i for i in self.old.encode(self.new.decode([number])) if i != UNK]
            found.append(spelled or everything)
        return found


def grown(bundle: Bundle, tokenizers: Tokenizers) -> Bundle:
    """The bundle with these tokenizers, which know all that its own ones know, under the same ids, and more.

    A new piece begins as the mean of the pieces that spelled it so far; a new language's tag as the mean of those of
    other languages. What has nothing to begin from is the mean of all.
    """
    old = bundle.tokenizers
    sides = {"target": _Side(old.target, tokenizers.target)}
    if not old.joint:
        sides["source"] = _Side(old.source, tokenizers.source)
    description = bundle.description
    rows: dict[str, list[list[int]]] = {}
    for name, side in sides.items():
        resized = _resized(bundle.description, name, len(side.new.vocabulary))
        rows |= dict.fromkeys(_changed(bundle.description, resized), side.origins())
        description = _resized(description, name, len(side.new.vocabulary))
    model = build_model(description)
    values = {name: _with_rows(value, rows.get(name, [])) for name, value in weights(bundle.model).items()}
    load_weights(model, values)
    return Bundle(description, model, tokenizers)


def _resized(description: Description, side: str, size: int) -> Description:
    if side == "target":
        return msgspec.structs.replace(description, target_vocabulary=size)
    unread = description.source_vocabulary is None
    return description if unread else msgspec.structs.replace(description, source_vocabulary=size)


def _changed(before: Description, after: Description) -> list[str]:
    """The weights with a row for each piece: those whose shapes the vocabulary changes."""
    with torch.device("meta"):
        old, new = (weights(build_model(each)) for each in (before, after))
    return [name for name, value in old.items() if value.shape != new[name].shape]


def _with_rows(value: Tensor, origins: list[list[int]]) -> Tensor:
    new = [value[each].mean(0) for each in origins]
    return torch.cat([value, torch.stack(new).to(value)]) if new else value
