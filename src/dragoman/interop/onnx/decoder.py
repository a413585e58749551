"""Greedy and beam search over an encoder and a decoder step in ONNX. Needs numpy and onnxruntime.

    python translate.py < source.txt > target.txt        (with sentencepiece, where the model has such pieces)

`encoder.onnx` reads ids and gives keys and values of the source for each layer of the decoder; `decoder.onnx` takes one
token in each row, with the keys and values of what was said so far, and gives log-probabilities of the next token.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

UNKNOWN, END = 1, 3


class OnnxModel:
    """A folder with both graphs, the pieces, and how to search."""

    def __init__(self, folder: Path | str, *, threads: int = 1) -> None:
        place = Path(folder)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        sessions = [
            onnxruntime.InferenceSession(str(place / name), options, providers=["CPUExecutionProvider"])
            for name in ("encoder.onnx", "decoder.onnx")
        ]
        self._encoder, self._decoder = sessions
        self.settings: dict[str, Any] = json.loads((place / "search.json").read_text(encoding="utf-8"))
        self.sources, self.targets = (
            json.loads((place / f"{side}.json").read_text(encoding="utf-8")) for side in ("source", "target")
        )
        self._ids = {piece: number for number, piece in enumerate(self.sources)}
        self._places = {side: place / f"{side}.spm" for side in ("source", "target")}

    # ---- ids --------------------------------------------------------------------------------------------------------

    def start(self, ids: list[int]) -> tuple[dict[str, Any], int]:
        """The state after all that an output begins with but its last token, and that token."""
        mask = np.ones((1, len(ids)), dtype=np.int64)
        memory = self._encoder.run(None, {"ids": np.array([ids], dtype=np.int64), "mask": mask})
        names = [each.name for each in self._encoder.get_outputs()]
        state = {"mask": mask, **dict(zip(names, memory, strict=True))}
        heads, size = self.settings["heads"], self.settings["head_size"]
        for layer in range(self.settings["layers"]):
            for part in ("keys", "values"):
                state[f"past_{part}_{layer}"] = np.zeros((1, heads, 0, size), dtype=np.float32)
        *given, last = self.settings["begin"]
        for token in given:
            _, state = self.step([token], state)
        return state, last

    def step(self, tokens: list[int], state: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Log-probabilities after one more token in each row, [R, V], and the state with it."""
        found = self._decoder.run(None, {"tokens": np.array(tokens, dtype=np.int64), **state})
        names = [each.name.removeprefix("new_") for each in self._decoder.get_outputs()]
        return found[0], state | dict(zip(names[1:], found[1:], strict=True))

    def beam(self, ids: list[int], *, beam: int, alpha: float = 1.0, most: int = 256) -> tuple[list[int], float]:
        """The best output of at most so many tokens, its end included, and its score: log-probability / length^alpha.

        At each step the best continuations of all live ones are kept; those that end are set aside, until there are as
        many as the beam is wide.
        """
        state, begin = self.start(ids)
        live: list[list[int]] = [[]]
        totals = np.zeros(1)
        finished: list[tuple[float, list[int]]] = []
        for length in range(1, most + 1):
            scores, state = self.step([tokens[-1] if tokens else begin for tokens in live], state)
            sums = totals[:, None] + scores
            best = np.argsort(-sums, axis=None, kind="stable")[:beam]
            rows, chosen = np.unravel_index(best, sums.shape)
            ended = chosen == END
            for row, total in zip(rows[ended], sums.flat[best[ended]], strict=True):
                finished.append((float(total) / length**alpha, [*live[row], END]))
            rows, tokens, totals = rows[~ended], chosen[~ended], sums.flat[best[~ended]]
            live = [[*live[row], int(token)] for row, token in zip(rows, tokens, strict=True)]
            if len(finished) >= beam or not live:
                break
            state = {name: value[rows] if len(value) > 1 or len(rows) > 1 else value for name, value in state.items()}
        if finished:
            score, output = max(finished, key=lambda each: each[0])
            return output, score
        return live[0], float(totals[0]) / len(live[0]) ** alpha

    def log_probs(self, ids: list[int], target: list[int]) -> list[float]:
        """The log-probability of each token of a target after those before it."""
        state, token = self.start(ids)
        found = []
        for label in target:
            scores, state = self.step([token], state)
            found.append(float(scores[0, label]))
            token = label
        return found

    # ---- texts ------------------------------------------------------------------------------------------------------

    def read(self, text: str) -> list[int]:
        """What the encoder reads of a text; without a sentencepiece model, of pieces between spaces."""
        subwords = self._subwords("source")
        pieces = text.split() if subwords is None else subwords.encode(text, out_type=str)
        ids = [self._ids.get(piece, UNKNOWN) for piece in pieces]
        return [*self.settings["before"], *ids, *self.settings["after"]]

    def text(self, ids: list[int]) -> str:
        """The text of an output."""
        subwords = self._subwords("target")
        silent = {0, 1, 2, END, *self.settings["silent"]}
        pieces = [self.targets[number] for number in ids if number not in silent]
        return " ".join(pieces) if subwords is None else str(subwords.decode_pieces(pieces))

    def translate(self, text: str) -> str:
        """The translation of a text, by the search that the model was exported with."""
        ids, told = self.read(text), self.settings
        most = min(told["most"], int(told["length_ratio"] * len(ids)) + told["most_extra"])
        return self.text(self.beam(ids, beam=told["beam"], alpha=told["alpha"], most=most)[0])

    def _subwords(self, side: str) -> Any:
        if not self._places[side].exists():
            return None
        import sentencepiece

        return sentencepiece.SentencePieceProcessor(model_file=str(self._places[side]))


if __name__ == "__main__":
    model = OnnxModel(Path(__file__).parent)
    for line in sys.stdin:
        sys.stdout.write((model.translate(line.strip()) if line.strip() else "") + "\n")
