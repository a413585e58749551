"""Checkpoints of Marian (`.npz`): the map of names, and what its options become.

Marian names a weight by what it is for (`encoder_l1_self_Wq`) and multiplies from the other side than torch. Here they
are first called as modules would be (`encoder.layers.0.self.q.weight`) and turned.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

import torch

from dragoman.decoding.beam import BeamSettings
from dragoman.decoding.greedy import GreedySettings
from dragoman.errors import FileError, ModelError, SettingError
from dragoman.files import disk_errors
from dragoman.interop import plain_yaml
from dragoman.interop.checkpoints import Checkpoint, Options, Side, brought, small_text, tables
from dragoman.interop.npz import Npz
from dragoman.interop.numbering import Numbering
from dragoman.interop.vocabularies import look, of_sentencepiece
from dragoman.interop.weights import Stack, WeightNames
from dragoman.models.attention import AttentionSettings
from dragoman.models.dropout import DropoutSettings
from dragoman.models.embedding import EmbeddingSettings
from dragoman.models.feedforward import FeedForwardSettings
from dragoman.models.norm import NormSettings
from dragoman.models.positions import LearnedSettings, SinusoidalSettings
from dragoman.models.transformer import TransformerSettings

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from torch import Tensor

    from dragoman.bundle import Bundle
    from dragoman.decoding.build import DecodingSettings
    from dragoman.models.feedforward import Activation

__all__ = ["marian_names", "read_marian"]

_CONFIG, _POSITIONS = "special:model.yml", "Wpos"
_LAYER = re.compile(r"(encoder|decoder)_l([1-9][0-9]{0,4})_(self|context|ffn|rnn)_(.+)")
_MAP = re.compile(r"([Wb])([qkvo12f]?)")
_NORM = re.compile(r"(?:(?:Wo|ffn)_)?ln_(scale|bias)(_pre)?")
_END = re.compile(r"(encoder|decoder)_(top|emb)_ln_(scale|bias)(_pre)?")
_KINDS = {"W": "weight", "b": "bias", "scale": "weight", "bias": "bias"}
_TABLES = {
    "Wemb": "shared.weight",
    "encoder_Wemb": "encoder.embedding.weight",
    "decoder_Wemb": "decoder.embedding.weight",
    "decoder_ff_logit_out_W": "output.weight",
    "decoder_ff_logit_out_Wt": "output.weight",
    "decoder_ff_logit_out_b": "output.bias",
}
_TURNED = "decoder_ff_logit_out_W"
_BOTH_POSITIONS = ("encoder.positions.weight", "decoder.positions.weight")
_ACTIVATIONS: dict[str, Activation] = {"swish": "silu", "relu": "relu"}
_EPSILON = 1e-6
_STEEPEST = 10.0
_ORDERS: dict[tuple[str, str, str], Literal["pre", "post"]] = {("", "an", ""): "post", ("n", "a", "n"): "pre"}
_REMEDY = "Check that the files belong together, and fetch them again."


# ---- names ---------------------------------------------------------------------------------------------------------


def marian_names(settings: TransformerSettings, declared: Collection[str]) -> WeightNames:
    """The names of a model with these settings, of whose weights these are declared."""
    norm = "norm_pre" if settings.norm.place == "pre" else "norm"
    feedforward = {
        "feedforward.inputs": ("ffn.1",),
        "feedforward.output": ("ffn.2",),
        "feedforward_residual.norm": (f"ffn.{norm}",),
    }
    itself = {
        "mixer.inputs": ("self.q", "self.k", "self.v"),
        "mixer.output": ("self.o",),
        "mixer_residual.norm": (f"self.{norm}",),
    }
    across = {
        "cross.queries": ("context.q",),
        "cross.memory": ("context.k", "context.v"),
        "cross.output": ("context.o",),
        "cross_residual.norm": (f"context.{norm}",),
    }
    recurrence = {"mixer.inputs": ("rnn.f", "rnn.map"), "mixer_residual.norm": (f"rnn.{norm}",)}
    ends = {"entry.positions": "positions", "entry.norm": "emb.norm_pre", "norm": "top.norm"}
    is_recurrent = settings.decoder == "ssru"
    back = recurrence if is_recurrent else itself
    return WeightNames(
        stacks=(
            Stack("encoder.stack", "encoder", "layers", itself | feedforward, ends),
            Stack("decoder", "decoder", "layers", back | across | feedforward, ends),
        ),
        tables=tables(
            settings,
            source=("shared.weight", "encoder.embedding.weight"),
            target=("shared.weight", "decoder.embedding.weight"),
            output=("output.weight",),
            bias=("output.bias",),
        ),
        others={
            f"{name.removesuffix('.rnn.f.bias')}.mixer.forget_bias": name
            for name in declared
            if is_recurrent and name.endswith(".rnn.f.bias")
        },
    )


def _module(name: str) -> str:
    """What a weight would be called if Marian were made of modules; its own name where it is none that is known."""
    if name in _TABLES:
        return _TABLES[name]
    if match := _END.fullmatch(name):
        side, end, kind, before = match.groups()
        return f"{side}.{end}.norm{before or ''}.{_KINDS[kind]}"
    if match := _LAYER.fullmatch(name):
        side, number, block, rest = match.groups()
        layer = f"{side}.layers.{int(number) - 1}.{block}"
        if part := _MAP.fullmatch(rest):
            return f"{layer}.{part[2] or 'map'}.{_KINDS[part[1]]}"
        if part := _NORM.fullmatch(rest):
            return f"{layer}.norm{part[2] or ''}.{_KINDS[part[1]]}"
    return name


class MarianTensors:
    """The weights of an archive, named and turned as torch would have them."""

    def __init__(self, archive: Npz) -> None:
        self._archive = archive
        self.place = str(archive.path)
        self._theirs: dict[str, str] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}
        for theirs, shape in archive.shapes().items():
            if theirs == _CONFIG:
                continue
            for ours in _BOTH_POSITIONS if theirs == _POSITIONS else (_module(theirs),):
                if ours in self._theirs:
                    raise ModelError(
                        f"{theirs} and {self._theirs[ours]} are the same", place=self.place, remedy=_REMEDY
                    )
                self._theirs[ours], self._shapes[ours] = theirs, _turned_shape(theirs, ours, shape)

    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The shape of each, by name."""
        return self._shapes

    def read(self, name: str) -> Tensor:
        """One of them."""
        theirs = self._theirs[name]
        value = torch.from_numpy(self._archive.read(theirs).astype("float32"))
        return (value.T if _is_turned(theirs, name) else value).reshape(self._shapes[name]).contiguous()

    def config(self) -> str:
        """The options that the model was made with."""
        if _CONFIG not in self._archive.shapes():
            raise ModelError(
                f"there is no {_CONFIG}, in which Marian keeps a model's options", place=self.place, remedy=_REMEDY
            )
        return self._archive.read(_CONFIG).tobytes().rstrip(b"\0").decode(errors="replace")


def _is_turned(theirs: str, ours: str) -> bool:
    """Whether it is the matrix of a linear map, which Marian multiplies from the right."""
    return theirs == _TURNED or (".layers." in ours and ours.endswith(".weight") and ".norm" not in ours)


def _turned_shape(theirs: str, ours: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    if _is_turned(theirs, ours):
        return shape[::-1]
    is_vector = ours.endswith(".bias") or ".norm" in ours
    return shape[1:] if is_vector and len(shape) == 2 and shape[0] == 1 else shape


# ---- options -------------------------------------------------------------------------------------------------------


def _settings(read: Options, declared: Mapping[str, tuple[int, ...]]) -> TransformerSettings:
    """The architecture; ModelError with the reason where there is none like it here."""
    read.demand("type", "transformer", why="is no Transformer that is known here")
    read.demand("right-left", False, why="means that it writes from the end to the begin")
    read.demand("lemma-dim-emb", 0, why="means factored words")
    read.demand("transformer-ffn-depth", 2)
    read.demand("transformer-decoder-ffn-depth", 0, 2)
    read.demand("transformer-tied-layers", [], why="means that layers of the decoder share weights")
    for key in ("transformer-no-projection", "transformer-rnn-projection", "transformer-pool", "ulr"):
        read.demand(key, False)
    inner = read("transformer-dim-ffn", int)
    read.demand("transformer-decoder-dim-ffn", 0, inner, why="is another size than the encoder's")
    read.demand("transformer-ffn-activation", *_ACTIVATIONS)
    autoregression = read("transformer-decoder-autoreg", str, "self-attention")
    if autoregression != "self-attention":
        read.demand("transformer-decoder-autoreg", "rnn")
        read.demand("dec-cell", "ssru")
    positions = SinusoidalSettings(interleaved=False, endpoint=True)
    learned = LearnedSettings(longest=_count(declared[_BOTH_POSITIONS[0]])) if _BOTH_POSITIONS[0] in declared else None
    all_tied = read("tied-embeddings-all", bool, default=False)
    dropout = read.rate("transformer-dropout")
    return TransformerSettings(
        size=read("dim-emb", int),
        encoder_layers=read("enc-depth", int),
        decoder_layers=read("dec-depth", int),
        decoder="attention" if autoregression == "self-attention" else "ssru",
        positions=learned or positions,
        norm=NormSettings(place=_place(read), epsilon=_EPSILON),
        attention=AttentionSettings(heads=read("transformer-heads", int)),
        feedforward=FeedForwardSettings(
            size=inner, activation=_ACTIVATIONS[read("transformer-ffn-activation", str, "swish")]
        ),
        embedding=EmbeddingSettings(
            shared=all_tied or read("tied-embeddings-src", bool, default=False),
            tied_output=all_tied or read("tied-embeddings", bool, default=False),
            scaled=learned is None,
            normalised="n" in read("transformer-postprocess-emb", str, ""),
            output_bias=True,  # under which the begin is never said
        ),
        dropout=DropoutSettings(
            hidden=dropout,
            attention=read.rate("transformer-dropout-attention"),
            feedforward=read.rate("transformer-dropout-ffn"),
        ),
    )


def _place(read: Options) -> Literal["pre", "post"]:
    """Where layers are normalised: d is dropout, a adds what came in, n normalises."""
    keys = ("transformer-preprocess", "transformer-postprocess", "transformer-postprocess-top")
    written = {key: read(key, str, "") for key in keys}
    before, after, top = (written[key].replace("d", "") for key in keys)
    if (before, after, top) not in _ORDERS or set(read("transformer-postprocess-emb", str, "")) - {"d", "n"}:
        raise ModelError(
            f"normalisation in another order than is known here: {written}",
            place=read.place,
            remedy="Known are dan after each sub-layer, and n before each, da after it and n at the top.",
        )
    return _ORDERS[before, after, top]


def _search(read: Options) -> DecodingSettings:
    """How the model's own decoder.yml searches; as Marian does where nothing is said."""
    beam, alpha = read("beam-size", int, 12), float(read("normalize", int | float, 0))
    return GreedySettings() if beam <= 1 else BeamSettings(beam=min(beam, 64), alpha=min(max(alpha, 0.0), _STEEPEST))


# ---- files ---------------------------------------------------------------------------------------------------------


def read_marian(path: Path, *, name: str, languages: tuple[str, str]) -> tuple[Bundle, str]:
    """The bundle of an archive, or of the one in a folder, and what is to be known of its texts."""
    file, decoder = _found(path)
    tensors = MarianTensors(Npz(file))
    read = Options(_mapping(tensors.config(), f"{file}, {_CONFIG}"), f"{file}, {_CONFIG}")
    try:
        settings = _settings(read, tensors.shapes())
        decoding = _search(decoder)
    except SettingError as error:
        raise ModelError(f"{error.place}: {error.problem}", place=read.place, remedy=_REMEDY) from None
    names = marian_names(settings, tensors.shapes())
    source, target = _vocabularies(file.parent, decoder)
    sides = [
        _vocabulary(each, file.parent / f"{side}.spm", rows=_rows(tensors, names, settings, side=side))
        for each, side in ((source, "source"), (target, "target"))
    ]
    checkpoint = Checkpoint(
        library="marian",
        architecture="Transformer" if settings.decoder == "attention" else "Transformer with SSRU",
        settings=settings,
        names=names,
        source=sides[0],
        target=sides[1],
        decoding=decoding,
    )
    cut = "" if isinstance(sides[0].cut, bytes) else "texts are cut at spaces alone: cut them into the model's pieces"
    return brought(checkpoint, tensors, name=name, languages=languages), cut


def _found(path: Path) -> tuple[Path, Options]:
    """The archive, and what the decoder.yml beside it says."""
    folder = path.parent if path.is_file() else path
    candidates = [folder / "decoder.yml"]
    if path.is_file():
        candidates.insert(0, folder / f"{path.name}.decoder.yml")
    else:
        candidates += sorted(folder.glob("*.decoder.yml"))
    told = next((each for each in candidates if each.is_file()), None)
    options = Options({}, str(folder)) if told is None else Options(_mapping(small_text(told), str(told)), str(told))
    if path.is_file():
        return path, options
    archives = sorted(each for each in folder.glob("*.npz") if not each.name.endswith("optimizer.npz"))
    named = [folder / str(each).rpartition("/")[2] for each in options("models", list, [])]
    chosen = [each for each in named if each in archives] or archives
    if len(chosen) != 1:
        raise ModelError(
            f"there are {len(chosen)} models: {', '.join(each.name for each in chosen[:4])}",
            place=str(folder),
            remedy="Name the file of one of them.",
        )
    return chosen[0], options


def _mapping(text: str, place: str) -> dict[str, Any]:
    found = plain_yaml.parse(text, place=place)
    if not isinstance(found, dict):
        raise FileError("holds no options", place=place, remedy=_REMEDY)
    return found


def _vocabularies(folder: Path, decoder: Options) -> tuple[Path, Path]:
    """The vocabulary of each side: those that decoder.yml names, else those that are there."""
    named = [folder / str(each).rpartition("/")[2] for each in decoder("vocabs", list, [])]
    found = [each for each in named if each.is_file()]
    if not found:
        found = sorted(
            each for ending in ("yml", "yaml", "json", "spm", "txt") for each in folder.glob(f"*vocab*.{ending}")
        )
        sources = [each for each in found if re.search(r"src|source", each.name)]
        targets = [each for each in found if re.search(r"trg|tgt|target", each.name)]
        found = [*sources, *targets] if len(sources) == len(targets) == 1 else found
    if not 1 <= len(found) <= 2:
        raise ModelError(
            f"it is not clear which of {len(found)} files is the vocabulary",
            place=str(folder),
            remedy="Put Marian's decoder.yml beside the model, whose `vocabs` names those of source and target.",
        )
    return found[0], found[-1]


def _rows(tensors: MarianTensors, names: WeightNames, settings: TransformerSettings, *, side: str) -> int:
    """How many pieces a side has, by the tables."""
    shared = settings.embedding.shared or side == "source"
    ours = "encoder.embedding.embedding.weight" if shared else "embedding.weight"
    given = [name for name in names.tables[ours] if name in tensors.shapes()]
    if not given:
        raise ModelError(f"there is no table of embeddings for the {side}", place=tensors.place, remedy=_REMEDY)
    return _count(tensors.shapes()[given[0]])


def _count(shape: tuple[int, ...]) -> int:
    """How many rows a table has; none where it is no table."""
    return shape[0] if shape else 0


def _vocabulary(path: Path, cutter: Path, *, rows: int) -> Side:
    """A side. Its decoder begins with zeros, and what pads is read by nobody: both are a row that Marian has not."""
    with disk_errors(path, "read"):
        model = path.read_bytes() if path.suffix == ".spm" else None
    numbers = look(path) if model is None else of_sentencepiece(model, str(path))
    end, unknown = (numbers.get(usual, numbers.get(old)) for usual, old in (("</s>", "eos"), ("<unk>", "UNK")))
    if end is None or unknown is None or end == unknown or max(numbers.values()) >= rows:
        raise ModelError(
            f"holds {len(numbers)} pieces with </s> as {end} and <unk> as {unknown}, which do not fit {rows} rows",
            place=str(path),
            remedy=_REMEDY,
        )
    if model is None and cutter.is_file():
        with disk_errors(cutter, "read"):
            model = cutter.read_bytes()
    named = {number: piece for piece, number in numbers.items()}
    pieces = tuple(named.get(number, "") for number in range(rows))
    numbering = Numbering(pad=rows, unknown=unknown, begin=rows, end=end, size=rows + 1)
    return Side(pieces, numbering, "spaces" if model is None else model)
