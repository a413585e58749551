"""Greedy and beam search over an encoder and a decoder step in ONNX. Needs numpy and onnxruntime.

    python translate.py < source.txt > target.txt        (with sentencepiece, where the model has such pieces)

`encoder.onnx` reads ids and gives keys and values of the source for each layer of the decoder; `decoder.onnx` takes one
token in each row, with the keys and values of what was said so far, and gives log-probabilities of the next token.
`source.json` and `target.json` say how texts are tidied and cut, `search.json` how to search.
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime

if TYPE_CHECKING:
    from collections.abc import Iterator

SPECIAL = ("<pad>", "<unk>", "<s>", "</s>")
UNKNOWN, END = 1, 3
MARK, ESCAPE = "\u2581", "\U0010fffd"
JOINERS = "\u200c\u200d"
INVISIBLE = {
    "control": r"\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufff9-\ufffb",
    "zero_width": r"\u00ad\u180e\u200b\u2060-\u2064\ufeff",
    "bidi": r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069",
}
SURROGATES = r"\ud800-\udfff"


def escaped(text: str) -> str:
    """The text without the mark that stands for spaces."""
    return text.replace(ESCAPE, ESCAPE + "0").replace(MARK, ESCAPE + "1")


def unescaped(text: str) -> str:
    """The text that was escaped."""
    return text.replace(ESCAPE + "1", MARK).replace(ESCAPE + "0", ESCAPE)


def in_word(character: str) -> bool:
    """Whether a character is part of a word: letters, digits, and the marks on them."""
    return character.isalnum() or character in "_" + JOINERS or unicodedata.category(character)[0] == "M"


def words(text: str) -> list[str]:
    """Words and other characters, each with the space before it."""
    found: list[str] = []
    for character in text:
        last = found[-1] if found else ""
        if (last == " " and character != " ") or (last and in_word(last[-1]) and in_word(character)):
            found[-1] += character
        else:
            found.append(character)
    return found


class Tidying:
    """What is done to a text before it is cut."""

    def __init__(self, told: dict[str, str]) -> None:
        self._told = told
        stripped = "".join(each for kind, each in INVISIBLE.items() if told[kind] == "strip")
        refused = "".join(each for kind, each in INVISIBLE.items() if told[kind] == "refuse")
        self._stripped = re.compile(f"[{stripped}]") if stripped else None
        self._refused = re.compile(f"[{SURROGATES}{refused}]")

    def __call__(self, text: str) -> str:
        """The text as the model was trained on it; ValueError where it holds what no text may."""
        if match := self._refused.search(text):
            raise ValueError(f"character {match.start() + 1}: U+{ord(match.group()):04X} is refused; take it out")
        if self._stripped is not None:
            text = self._stripped.sub("", text)
        match self._told["unicode"]:
            case "NFC":
                text = unicodedata.normalize("NFC", text)
            case "NFKC":
                text = unicodedata.normalize("NFKC", text)
        return re.sub(r"\s+", " ", text).strip(" ") if self._told["spaces"] == "collapse" else text


class Side:
    """The texts of one side, as ids and back."""

    def __init__(self, folder: Path, side: str) -> None:
        told = json.loads((folder / f"{side}.json").read_text(encoding="utf-8"))
        self.pieces: list[str] = told["pieces"]
        self._kind: str = told["kind"]
        self._ids = {piece: number for number, piece in enumerate(self.pieces) if piece not in SPECIAL}
        self._silent = set(told["silent"])
        self._tidy = Tidying(told["normalization"])
        longest_first = sorted(told["symbols"], key=len, reverse=True)
        self._symbols = re.compile(f"({'|'.join(map(re.escape, longest_first))})") if longest_first else None
        self._subwords: Any = None
        if (folder / f"{side}.spm").exists():
            import sentencepiece

            self._subwords = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{side}.spm"))

    def ids(self, text: str) -> list[int]:
        """The ids of a text."""
        tidy = self._tidy(text)
        if self._kind == "subwords":
            return list(self._subwords.encode(escaped(tidy)))
        return [self._ids.get(piece, UNKNOWN) for piece in self._cut(tidy)]

    def text(self, ids: list[int]) -> str:
        """The text of ids."""
        if self._kind == "subwords":
            return unescaped(self._subwords.decode(ids))
        pieces = [self.pieces[number] for number in ids if number not in self._silent]
        match self._kind:
            case "words":  # an unknown one stands for a word with the space before it, mostly
                joined = "".join(MARK + piece if piece == SPECIAL[UNKNOWN] else piece for piece in pieces)
                return unescaped(joined.replace(MARK, " ").removeprefix(" "))
            case "characters":
                return "".join(pieces)
            case "symbols":
                return " ".join(pieces)
        text = str(self._subwords.decode_pieces(pieces))
        return text.replace(MARK, " ").strip() if MARK in text else text

    def _cut(self, text: str) -> list[str]:
        if self._kind == "symbols":
            return re.findall("[^ ]+", text)
        if self._kind == "words" and text:
            text = f" {escaped(text)}"
        found: list[str] = []
        for stretch, is_symbol in self._stretches(text):
            found += [stretch] if is_symbol else self._cut_stretch(stretch)
        return found

    def _cut_stretch(self, stretch: str) -> list[str]:
        match self._kind:
            case "words":
                return [word.replace(" ", MARK) for word in words(stretch)]
            case "characters":
                return list(stretch)
        return list(self._subwords.encode(stretch, out_type=str))

    def _stretches(self, text: str) -> Iterator[tuple[str, bool]]:
        """The parts of a text, each a symbol that is never cut or free of such."""
        parts = [text] if self._symbols is None else self._symbols.split(text)
        return ((part, bool(place % 2)) for place, part in enumerate(parts) if part)


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
        self.source, self.target = Side(place, "source"), Side(place, "target")

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
        """What the encoder reads of a text; nothing of one that is empty."""
        ids, told = self.source.ids(text), self.settings
        if not ids:
            return []
        before = [] if ids[0] in told["tags"] else told["before"]
        if told["languages"] and not before and not set(told["languages"]).intersection(ids[:2]):
            known = ", ".join(self.source.pieces[number] for number in told["languages"])
            raise ValueError(f"{text!r} asks for no language; begin it with one of {known}")
        return [*before, *ids, *told["after"]]

    def text(self, ids: list[int]) -> str:
        """The text of an output."""
        return self.target.text(ids)

    def translate(self, text: str) -> str:
        """The translation of a text, by the search that the model was exported with."""
        ids, told = self.read(text), self.settings
        if not ids:
            return ""
        most = min(told["most"], max(1, int(told["length_ratio"] * len(ids)) + told["most_extra"]))
        return self.text(self.beam(ids, beam=told["beam"], alpha=told["alpha"], most=most)[0])


def main() -> None:
    """Translate each line of the standard input."""
    model = OnnxModel(Path(__file__).parent)
    for line in sys.stdin.buffer:
        said = model.translate(line.decode().rstrip("\r\n"))
        sys.stdout.buffer.write(f"{said}\n".encode())
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
