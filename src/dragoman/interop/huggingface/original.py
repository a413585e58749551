"""The original in transformers, asked as its own users ask it."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import save_file

from dragoman.interop.huggingface.folder import WANTED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor

    from dragoman.interop.huggingface.folder import Folder

__all__ = ["Ids", "TransformersModel", "available", "quiet", "tidy_folder"]


def available() -> bool:
    """Whether the library is installed."""
    try:
        import transformers  # noqa: F401 - asked for by name alone
    except ImportError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Ids:
    """What the original is told to begin with, in its own numbers."""

    before: tuple[int, ...]
    """Stands before each source beside what its tokenizer puts there: the prompt of a task."""
    begin: int
    first: tuple[int, ...]
    """What the decoder is given after the begin."""
    pad: int
    end: int
    never: tuple[int, ...] = ()


class TransformersModel:
    """A folder, opened by the library."""

    def __init__(self, folder: Path, *, ids: Ids, source_language: str = "", target_language: str = "") -> None:
        import transformers

        languages = {"src_lang": source_language, "tgt_lang": target_language}
        told = {key: value for key, value in languages.items() if value}
        with quiet():
            self.tokenizer: Any = transformers.AutoTokenizer.from_pretrained(str(folder), local_files_only=True, **told)
            self.model: Any = transformers.AutoModelForSeq2SeqLM.from_pretrained(
                str(folder), local_files_only=True, dtype=torch.float32, attn_implementation="eager"
            ).eval()
        self._ids = ids

    def source_ids(self, text: str) -> list[int]:
        """What the encoder reads."""
        with quiet():
            return [*self._ids.before, *self.tokenizer(text).input_ids]

    def target_ids(self, text: str) -> list[int]:
        """What it should say, without what it is given first."""
        with quiet():
            ids: list[int] = list(self.tokenizer(text_target=text).input_ids)
        while ids and ids[-1] != self._ids.end:  # older mBART puts a language behind the end
            ids.pop()
        given = len(self._ids.first)
        return ids[given:] if tuple(ids[:given]) == self._ids.first else ids

    @torch.inference_mode()
    def logits(self, source: Sequence[int], target: Sequence[int]) -> Tensor:
        """Logits before each token of the target."""
        inputs = torch.tensor([[self._ids.begin, *self._ids.first, *target[:-1]]])
        found = self.model(input_ids=torch.tensor([list(source)]), decoder_input_ids=inputs, use_cache=False)
        logits_TV: Tensor = found.logits[0, len(self._ids.first) :].float()
        return logits_TV

    @torch.inference_mode()
    def search(self, source: Sequence[int], *, beam: int, most: int) -> tuple[list[int], float]:
        """The best output, and its score."""
        from transformers import GenerationConfig

        given = len(self._ids.first)
        told: Any = GenerationConfig(  # type: ignore[no-untyped-call]  # the library has no types here
            num_beams=beam,
            do_sample=False,
            max_new_tokens=most + given,
            length_penalty=None if beam == 1 else 0.0 if given else 1.0,
            early_stopping=None if beam == 1 else True,
            decoder_start_token_id=self._ids.begin,
            forced_bos_token_id=self._ids.first[0] if given else None,
            pad_token_id=self._ids.pad,
            eos_token_id=self._ids.end,
            bad_words_ids=[[number] for number in self._ids.never] or None,
            return_dict_in_generate=True,
            output_scores=True,
        )
        ids = torch.tensor([list(source)])
        with quiet():
            self.model.generation_config = told  # what the folder says must not have a say
            found = self.model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), generation_config=told)
        output = found.sequences[0, 1 + given :].tolist()
        if self._ids.end in output:
            output = output[: output.index(self._ids.end) + 1]
        if beam > 1:
            return output, float(found.sequences_scores[0])
        values = torch.stack(found.scores).log_softmax(-1)[given:, 0]
        return output, float(sum(values[n, i] for n, i in enumerate(output)))

    def text(self, ids: Sequence[int]) -> str:
        """The text of an output."""
        with quiet():
            return str(self.tokenizer.decode(list(ids), skip_special_tokens=True))


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Neither warnings nor bars: what is printed of a probe are its figures."""
    from transformers.utils import logging as transformers_logging

    logging: Any = transformers_logging
    level = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)


@contextlib.contextmanager
def tidy_folder(folder: Folder) -> Iterator[Path]:
    """The files that are read here and no others, the weights in safetensors, for the library to open."""
    tensors = folder.tensors()
    with tempfile.TemporaryDirectory(prefix="dragoman-") as place:
        for name in WANTED:
            if (folder.path / name).is_file():
                shutil.copyfile(folder.path / name, Path(place) / name)
        if len(folder.weights) == 1:
            (Path(place) / "model.safetensors").symlink_to(folder.weights[0].absolute())
        else:
            everything = {name: tensors.read(name) for name in tensors.shapes()}
            save_file(everything, Path(place) / "model.safetensors", metadata={"format": "pt"})
        yield Path(place)
