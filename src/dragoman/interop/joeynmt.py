"""Models of JoeyNMT: a folder with `config.yaml`, checkpoints and vocabularies. Its Transformers are read."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dragoman.decoding.beam import BeamSettings
from dragoman.decoding.greedy import GreedySettings
from dragoman.errors import FileError, ModelError, SettingError
from dragoman.files import disk_errors
from dragoman.interop import plain_yaml
from dragoman.interop.checkpoints import Checkpoint, Options, Side, brought, small_text, tables
from dragoman.interop.numbering import Numbering
from dragoman.interop.safe_tensors import SafeTensors
from dragoman.interop.unpickling import unpickled
from dragoman.interop.weights import Stack, WeightNames
from dragoman.models.attention import AttentionSettings
from dragoman.models.dropout import DropoutSettings
from dragoman.models.embedding import EmbeddingSettings
from dragoman.models.feedforward import FeedForwardSettings
from dragoman.models.norm import NormSettings
from dragoman.models.transformer import TransformerSettings
from dragoman.text.spaces import MARK

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dragoman.bundle import Bundle
    from dragoman.decoding.build import DecodingSettings
    from dragoman.interop.checkpoints import Cut
    from dragoman.models.feedforward import Activation

__all__ = ["CONFIG", "joeynmt_names", "read_joeynmt"]

CONFIG = "config.yaml"
_BEST, _STATE = "best.ckpt", "model_state"
_ACTIVATIONS: dict[str, Activation] = {"relu": "relu", "gelu": "gelu", "swish": "silu"}
_EPSILON = 1e-6
_STEEPEST = 10.0
_SPECIAL = {"unk": "<unk>", "pad": "<pad>", "bos": "<s>", "eos": "</s>"}
_REMEDY = "Check that the files belong together, and fetch them again."


# ---- names ---------------------------------------------------------------------------------------------------------


def _attention(ours: Mapping[str, str], theirs: str) -> dict[str, tuple[str, ...]]:
    """The maps of an attention: ours by what they are for, q, k and v each with a letter."""
    return {name: tuple(f"{theirs}.{letter}_layer" for letter in letters) for name, letters in ours.items()} | {
        f"{next(iter(ours)).partition('.')[0]}.output": (f"{theirs}.output_layer",)
    }


_FORWARD = {
    "feedforward.inputs": ("feed_forward.pwff_layer.0",),
    "feedforward.output": ("feed_forward.pwff_layer.3",),
    "feedforward_residual.norm": ("feed_forward.layer_norm",),
}
_ENCODER = _attention({"mixer.inputs": "qkv"}, "src_src_att") | {"mixer_residual.norm": ("layer_norm",)} | _FORWARD
_DECODER = (
    _attention({"mixer.inputs": "qkv"}, "trg_trg_att")
    | _attention({"cross.queries": "q", "cross.memory": "kv"}, "src_trg_att")
    | {"mixer_residual.norm": ("x_layer_norm",), "cross_residual.norm": ("dec_layer_norm",)}
    | _FORWARD
)


def joeynmt_names(settings: TransformerSettings) -> WeightNames:
    """The names of a model with these settings."""
    return WeightNames(
        stacks=(
            Stack("encoder.stack", "encoder", "layers", _ENCODER, {"norm": "layer_norm"}),
            Stack("decoder", "decoder", "layers", _DECODER, {"norm": "layer_norm"}),
        ),
        tables=tables(
            settings,
            source=("src_embed.lut.weight",),
            target=("trg_embed.lut.weight",),
            output=("decoder.output_layer.weight",),
        ),
        computed=(".pe.pe",),
    )


# ---- options -------------------------------------------------------------------------------------------------------


def _settings(model: Options, declared: Mapping[str, tuple[int, ...]]) -> TransformerSettings:
    """The architecture; ModelError with the reason where there is none like it here."""
    encoder, decoder = model.within("encoder"), model.within("decoder")
    place: Literal["pre", "post"] = "pre" if "encoder.layer_norm.weight" in declared else "post"
    for side in (encoder, decoder):
        if side("type", str, "recurrent") != "transformer":
            raise ModelError(
                "recurrent models of JoeyNMT are not read, only its Transformers",
                place=side.place,
                remedy="There is no way: their layers are joined in another order than here.",
            )
        side.demand("alpha", 1, why="weighs what goes around a sub-layer, as DeepNet does")
        side.demand("layer_norm", place, why="is not what the weights say")
        side.demand("activation", *_ACTIVATIONS)
    tied = model("tied_embeddings", bool, default=False)
    scales = [
        side.within("embeddings")("scale", bool, default=False) for side in (encoder, encoder if tied else decoder)
    ]
    shared = {key: (encoder(key, int), decoder(key, int)) for key in ("hidden_size", "ff_size", "num_heads")} | {
        "scale": (scales[0], scales[1]),
        "activation": (_activation(encoder), _activation(decoder)),
    }
    for key, (one, other) in shared.items():
        if one != other:
            raise ModelError(
                f"{key} is {one} in the encoder and {other} in the decoder, and here both have the same",
                place=model.place,
                remedy="There is no way.",
            )
    size = encoder("hidden_size", int)
    return TransformerSettings(
        size=size,
        encoder_layers=encoder("num_layers", int),
        decoder_layers=decoder("num_layers", int),
        norm=NormSettings(place=place, epsilon=_EPSILON),
        attention=AttentionSettings(heads=encoder("num_heads", int)),
        feedforward=FeedForwardSettings(size=encoder("ff_size", int), activation=_ACTIVATIONS[_activation(encoder)]),
        embedding=EmbeddingSettings(
            shared=tied,
            tied_output=model("tied_softmax", bool, default=False),
            scaled=scales[0],
            output_bias=True,  # under which the begin is never said
        ),
        dropout=DropoutSettings(
            hidden=encoder.rate("dropout"), attention=encoder.rate("dropout"), feedforward=encoder.rate("dropout")
        ),
    )


def _activation(side: Options) -> str:
    return str(side("activation", str, "relu"))


def _search(testing: Options) -> DecodingSettings:
    """How the model is tested, which is how it searches where nothing is said."""
    beam = testing("beam_size", int, 1)
    alpha = float(testing("beam_alpha", int | float, testing("alpha", int | float, -1)))
    if beam <= 1:
        return GreedySettings()
    return BeamSettings(beam=min(beam, 64), alpha=min(max(alpha, 0.0), _STEEPEST), normalization="gnmt")


# ---- files ---------------------------------------------------------------------------------------------------------


def read_joeynmt(path: Path, *, name: str, languages: tuple[str, str]) -> tuple[Bundle, str]:
    """The bundle of a folder, or of one checkpoint in it, and what is to be known of its texts."""
    folder = path.parent if path.is_file() else path
    place = str(folder / CONFIG)
    parsed = plain_yaml.parse(small_text(folder / CONFIG), place=place)
    if not isinstance(parsed, dict):
        raise FileError("holds no options", place=place, remedy=_REMEDY)
    config = Options(parsed, place)
    with _weights(_chosen(path, folder)) as tensors:
        try:
            settings = _settings(config.within("model"), tensors.shapes())
            decoding = _search(config.within("testing"))
        except SettingError as error:
            raise ModelError(f"{error.place}: {error.problem}", place=place, remedy=_REMEDY) from None
        data = config.within("data")
        checkpoint = Checkpoint(
            library="joeynmt",
            architecture="Transformer",
            settings=settings,
            names=joeynmt_names(settings),
            source=_side(folder, data, "src"),
            target=_side(folder, data, "trg"),
            decoding=decoding,
        )
        spoken = (languages[0] or _language(data, "src"), languages[1] or _language(data, "trg"))
        return brought(checkpoint, tensors, name=name, languages=spoken), _remark(folder, data)


def _chosen(path: Path, folder: Path) -> Path:
    """The checkpoint that is asked for, else the best one."""
    if path.is_file():
        return path
    if (folder / _BEST).is_file():
        return folder / _BEST
    found = sorted(folder.glob("*.ckpt"))
    if len(found) != 1:
        raise ModelError(
            f"there is no {_BEST}, and there are {len(found)} other checkpoints",
            place=str(folder),
            remedy="Name the file of one of them.",
        )
    return found[0]


@contextlib.contextmanager
def _weights(checkpoint: Path) -> Iterator[SafeTensors]:
    """The weights of a checkpoint, for as long as it is open; a process of its own has unpickled them."""
    with tempfile.TemporaryDirectory(prefix="dragoman-") as place:
        written = Path(place) / "weights.safetensors"
        unpickled(checkpoint, written, key=_STATE)
        yield SafeTensors([written], place=str(checkpoint))


def _of_side(data: Options, side: str) -> Options:
    """What is said of a side; before version 2 that was only its language, and the rest of both sides."""
    return data.within(side) if isinstance(data.values.get(side), dict) else data


def _language(data: Options, side: str) -> str:
    told = data.values.get(side)
    return str(told if isinstance(told, str) else data.within(side)("lang", str, "") if told else "")


def _cut(folder: Path, told: Options) -> Cut:
    """What cuts the texts of a side into pieces."""
    level = told("level", str, "word")
    if level == "char":
        return "characters"
    if level != "bpe" or told("tokenizer_type", str, told("bpe_type", str, "sentencepiece")) != "sentencepiece":
        return "spaces"
    named = told.within("tokenizer_cfg")("model_file", str, "")
    if not named:
        return "spaces"
    model = folder / Path(named).name
    with disk_errors(model, "read"):
        return model.read_bytes()


def _side(folder: Path, data: Options, side: str) -> Side:
    told = _of_side(data, side)
    kept, named = folder / f"{side}_vocab.txt", told("voc_file", str, data(f"{side}_vocab", str, ""))
    file = kept if kept.is_file() or not named else folder / Path(named).name
    given = data.within("special_symbols")
    special = {key: given(f"{key}_token", str, usual) for key, usual in _SPECIAL.items()}
    lines = small_text(file).removesuffix("\n").split("\n")
    pieces = list(dict.fromkeys([*special.values(), *lines]))  # as JoeyNMT itself makes sure of its special pieces
    if len(set(special.values())) < len(special):
        raise ModelError("two of the special pieces are the same", place=str(file), remedy=_REMEDY)
    unknown, pad, begin, end = (pieces.index(special[key]) for key in ("unk", "pad", "bos", "eos"))
    cut = _cut(folder, told)
    if cut == "characters":  # where a space stands as a mark
        pieces = [" " if piece == MARK and " " not in pieces else piece for piece in pieces]
    numbering = Numbering(pad=pad, unknown=unknown, begin=begin, end=end, size=len(pieces))
    return Side(tuple(pieces), numbering, cut)


def _remark(folder: Path, data: Options) -> str:
    """What JoeyNMT does to texts and is not done here."""
    found: dict[str, None] = {}
    for side, called in (("src", "sources"), ("trg", "outputs")):
        told = _of_side(data, side)
        if told("lowercase", bool, default=False):
            found[f"{called} are in lower case"] = None
        if told.within("tokenizer_cfg")("pretokenizer", str, "none").lower() != "none":
            found[f"{called} are cut into words as Moses does"] = None
        if told("level", str, "word") != "char" and _cut(folder, told) == "spaces":
            found[f"{called} are cut at spaces alone: they are the model's pieces"] = None
    return "; ".join(found)
