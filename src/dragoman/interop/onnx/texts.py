"""What the decoder beside the graphs has to know of a tokenizer, so that it cuts texts as the bundle does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dragoman.errors import ModelError
from dragoman.files import write_atomically
from dragoman.text.lookup import Lookup
from dragoman.text.normalize import Normalization
from dragoman.text.sentencepieces import SentencePieces
from dragoman.text.subword import Subword
from dragoman.text.vocabulary import BOS, EOS, PAD, SPECIAL

if TYPE_CHECKING:
    from pathlib import Path

    from dragoman.text.tokenizer import Tokenizer

__all__ = ["Cuts", "cuts", "write_cuts"]


class Cuts(msgspec.Struct, frozen=True, kw_only=True):
    """How one side is cut: the content of its JSON file."""

    kind: str
    """`words`, `characters` or `symbols`; `subwords` are numbered by their sentencepiece model, `pieces` are not."""
    pieces: tuple[str, ...]
    symbols: tuple[str, ...]
    silent: tuple[int, ...]
    """Ids that are no text."""
    normalization: Normalization


def cuts(tokenizer: Tokenizer) -> Cuts:
    """How a tokenizer cuts; ModelError where the decoder has no way to do the same."""
    silent: tuple[int, ...] = (PAD, BOS, EOS)
    match tokenizer:
        case Subword():
            kind = "subwords"
        case SentencePieces():
            kind = "pieces"
            unsaid = (tokenizer.vocabulary[piece] for piece in tokenizer.settings.silent)
            silent = (*range(len(SPECIAL)), *unsaid)
        case Lookup():
            kind = str(tokenizer.settings.__struct_config__.tag)
        case _:
            raise ModelError(
                "this model cannot be written as ONNX: the decoder beside the graphs cuts texts into words, "
                "characters, symbols and sentencepiece's pieces, not into pairs of bytes",
                place="tokenizer",
                remedy="Give it back to transformers (`--to huggingface`), or translate with dragoman.",
            )
    vocabulary = tokenizer.vocabulary
    return Cuts(
        kind=kind,
        pieces=vocabulary.pieces,
        symbols=vocabulary.symbols,
        silent=silent,
        normalization=tokenizer.normalizer.settings,
    )


def write_cuts(tokenizer: Tokenizer, folder: Path, *, side: str) -> None:
    """Write what the decoder reads of a side."""
    write_atomically(folder / f"{side}.json", msgspec.json.encode(cuts(tokenizer)))
    if isinstance(tokenizer, Subword | SentencePieces):
        write_atomically(folder / f"{side}.spm", tokenizer.model)
