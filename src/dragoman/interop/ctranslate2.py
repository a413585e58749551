"""Export to CTranslate2: the model, what its tokenizer learned, and how to search as the bundle does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import sentencepiece

from dragoman.bundle import Frame
from dragoman.engines.ctranslate2.conversion import write
from dragoman.engines.ctranslate2.package import ctranslate2
from dragoman.engines.ctranslate2.search import options
from dragoman.errors import SettingError
from dragoman.files import write_atomically
from dragoman.text.sentencepieces import SentencePieces
from dragoman.text.subword import Subword
from dragoman.text.vocabulary import EOS
from dragoman.translator.reader import framing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dragoman.bundle import Bundle
    from dragoman.engines.ctranslate2.conversion import Quantization

__all__ = ["CTranslate2Model", "write_ctranslate2"]

SOURCE, TARGET = "source.spm", "target.spm"
"""The sentencepiece models, where subwords are used."""
SEARCH = "search.json"
"""Keyword arguments of `translate_batch` under which it searches as the bundle does."""


def write_ctranslate2(bundle: Bundle, folder: Path, *, quantization: Quantization) -> None:
    """Write all that CTranslate2 needs into an existing folder."""
    write(bundle, folder, quantization=quantization)
    tokenizers = bundle.tokenizers
    sides = {SOURCE: tokenizers.source, TARGET: tokenizers.target}
    for name, tokenizer in sides.items():
        if isinstance(tokenizer, Subword | SentencePieces):
            write_atomically(folder / name, tokenizer.model)
    write_atomically(folder / SEARCH, msgspec.json.format(msgspec.json.encode(_search(bundle)), indent=1))


def _search(bundle: Bundle) -> dict[str, Any]:
    """The bundle's own search; where CTranslate2 has none like it, what it does when nothing is said."""
    limits = bundle.description.decoding.filters.lengths
    try:
        chosen = options(bundle.description.decoding)
    except SettingError:
        chosen = {}
    return chosen | {"max_decoding_length": limits.most, "min_decoding_length": limits.least}


class CTranslate2Model:
    """An exported folder, asked through the library's own calls."""

    def __init__(self, folder: Path, bundle: Bundle) -> None:
        self._model: Any = ctranslate2().Translator(str(folder), device="cpu", compute_type="default", intra_threads=1)
        self._tokenizers, self._adds_end = bundle.tokenizers, bundle.description.source_end
        self._targets = bundle.tokenizers.target.vocabulary
        description, vocabulary = bundle.description, bundle.tokenizers.source.vocabulary
        around = description.frame.before if isinstance(description.frame, Frame) else ()
        self._before = framing(around, description, vocabulary, source_language="", target_language="")
        self._subwords = {
            name: sentencepiece.SentencePieceProcessor(model_file=str(folder / name))
            for name, tokenizer in ((SOURCE, self._tokenizers.source), (TARGET, self._tokenizers.target))
            if isinstance(tokenizer, Subword)  # of others the numbers of pieces are not those of the file
        }

    def read(self, source: str) -> list[int]:
        """What the encoder reads: the pieces of the tidied text, and the end."""
        tokenizer = self._tokenizers.source
        subwords = self._subwords.get(SOURCE)
        ids = tokenizer.encode(source) if subwords is None else subwords.encode(tokenizer.normalizer(source))
        return [*self._before, *ids, *([EOS] if self._adds_end else [])]

    def greedy(self, sources: Sequence[Sequence[int]], *, most: Sequence[int]) -> list[list[int]]:
        """The greedy output for each source."""
        outputs = []
        for ids, longest in zip(sources, most, strict=True):
            (result,) = self._model.translate_batch(
                [self._pieces(ids)],
                beam_size=1,
                max_decoding_length=longest,
                min_decoding_length=0,
                return_end_token=True,
            )
            outputs.append([self._targets[piece] for piece in result.hypotheses[0]])
        return outputs

    def log_probs(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[list[float]]:
        """The log-probability of each token of each target."""
        pieces = self._targets.pieces
        given = [[pieces[i] for i in (ids[:-1] if ids[-1] == EOS else ids)] for ids in targets]
        scored = self._model.score_batch([self._pieces(ids) for ids in sources], given)
        return [each.log_probs[: len(ids)] for each, ids in zip(scored, targets, strict=True)]

    def text(self, ids: Sequence[int]) -> str:
        """The text of an output."""
        subwords = self._subwords.get(TARGET)
        return self._tokenizers.target.decode(ids) if subwords is None else str(subwords.decode(list(ids)))

    def _pieces(self, ids: Sequence[int]) -> list[str]:
        pieces = self._tokenizers.source.vocabulary.pieces
        return [pieces[i] for i in (ids[:-1] if self._adds_end else ids)]
