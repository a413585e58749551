"""The tokenizers of a folder: pieces and their numbers there, and what cuts a text into pieces."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import sentencepiece

from dragoman.bundle import SOURCE_TAG, TARGET_TAG, Frame
from dragoman.errors import ModelError
from dragoman.interop.huggingface.folder import WANTED
from dragoman.interop.sentencepiece_models import Kind, sentencepiece_model
from dragoman.text.build import Tokenizers
from dragoman.text.bytepairs import BytePairs, BytePairSettings
from dragoman.text.normalize import Normalization, Normalizer
from dragoman.text.sentencepieces import SentencePieces, SentencePieceSettings
from dragoman.text.vocabulary import BOS, SPECIAL, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dragoman.interop.huggingface.configuration import Architecture
    from dragoman.interop.huggingface.folder import Folder
    from dragoman.interop.numbering import Numbering
    from dragoman.text.tokenizer import Tokenizer

__all__ = ["Found", "bring_tokenizers", "look"]

_M2M_CODES = {
    "m2m100": "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl "
    "gu ha he hi hr ht hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml "
    "mn mr ms my ne nl no ns oc or pa pl ps pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl "
    "tn tr uk ur uz vi wo xh yi yo zh zu",
    "wmt21": "en ha is ja cs ru zh de",
}
"""Languages in the order of their numbers, which newer folders do not say."""
_AS_IT_IS: Any = {"unicode": "none", "control": "keep", "zero_width": "keep", "bidi": "keep"}
_M2M_LANGUAGE = re.compile("__([a-z_]+)__")
_CODE = re.compile(r"[a-z]{2,3}_[A-Z][A-Za-z]{1,3}")
_MARIAN_LANGUAGE = re.compile(r">>(.+)<<")
_REMEDY = "Fetch the model again; what is known here is in the guide to imports."


@dataclass(frozen=True, slots=True)
class Found:
    """What a folder says of its pieces."""

    ids: Mapping[str, int]
    """The number of each piece there."""
    special: Mapping[str, str]
    """What the unknown piece, padding and so on are called."""
    added: Mapping[str, int] = field(default_factory=dict)
    """Pieces that are found in texts as they are."""

    def unknown(self, place: str) -> int:
        """The number of the unknown piece."""
        name = self.special.get("unk_token", "<unk>")
        if name not in self.ids:
            raise ModelError(f"the unknown piece {name!r} has no number", place=place, remedy=_REMEDY)
        return self.ids[name]


def look(folder: Folder, architecture: Architecture) -> Found:
    """The pieces and their numbers, wherever the folder has them."""
    place = str(folder.path)
    whole = folder.document("tokenizer.json")
    told = folder.document("tokenizer_config.json")
    special = _special(folder.document("special_tokens_map.json") | told)
    named = _numbered(whole, told) | {
        str(k): v for k, v in folder.document("added_tokens.json").items() if isinstance(v, int)
    }
    if whole:
        ids = _of_json(whole, place)
    elif vocabulary := folder.document("vocab.json"):
        ids = {str(piece): number for piece, number in vocabulary.items() if isinstance(number, int)}
    elif architecture.family.is_t5 or architecture.kind == "mbart":
        ids = _of_sentencepiece(folder, told, is_t5=architecture.family.is_t5, special=special)
    else:
        raise ModelError("there is no vocabulary", place=place, remedy=_REMEDY)
    if architecture.kind == "m2m_100" and not any(_language(piece) for piece in named):
        listed = [each for each in special.get("others", "").split("\n") if _language(each)]
        codes = listed or [
            f"__{each}__" for each in _M2M_CODES.get(str(told.get("language_codes", "m2m100")), "").split()
        ]
        named |= {piece: len(ids) + n for n, piece in enumerate(codes)}  # behind the vocabulary, in their order
    ids = {**ids, **named}
    ids = {piece: number for piece, number in ids.items() if 0 <= number < architecture.vocabulary}
    if len(set(ids.values())) < len(ids):
        raise ModelError("two pieces have one number", place=place, remedy=_REMEDY)
    return Found(ids, special, named)


def bring_tokenizers(
    folder: Folder, found: Found, *, architecture: Architecture, numbering: Numbering
) -> tuple[Tokenizers, Frame]:
    """The tokenizers of both sides, and what stands around texts."""
    names = _names(found, numbering)
    forms = [SPECIAL[n] if n < len(SPECIAL) else names[theirs] for n, theirs in enumerate(numbering.theirs())]
    ours = dict(zip(numbering.theirs(), range(len(forms)), strict=True)) | dict(enumerate(numbering.ours()))
    piece_of = {piece: forms[ours[number]] for piece, number in found.ids.items() if number in ours}
    frame = _frame(folder, found, architecture, piece_of)
    unused = (form for form in forms if form.startswith("<unused "))
    silent = tuple(dict.fromkeys([*frame.languages.values(), *_unsaid(found, piece_of, numbering, forms), *unused]))
    symbols = _symbols(found, architecture, piece_of)
    vocabulary = Vocabulary(forms, symbols)
    kept = {name: data for name in WANTED if (data := folder.data(name)) is not None}
    if architecture.kind == "bart":
        both: Tokenizer = _byte_pairs(folder, vocabulary, silent, kept)
        return Tokenizers(both, both), frame
    models = _models(folder, architecture, found)
    cutter = folder.document("tokenizer.json").get("pre_tokenizer")
    spaces: Any = "collapse" if "WhitespaceSplit" in str(cutter) else "keep"
    for model in models:
        _processor(model, str(folder.path))
    made = [
        SentencePieces(
            model,
            settings=SentencePieceSettings(silent=silent),
            vocabulary=vocabulary,
            normalizer=Normalizer(Normalization(spaces=spaces, **_AS_IT_IS)),
            kept={} if number else kept,
        )
        for number, model in enumerate(models)
    ]
    return Tokenizers(made[0], made[-1]), frame


# ---- pieces and numbers --------------------------------------------------------------------------------------------


def _of_json(whole: Mapping[str, Any], place: str) -> dict[str, int]:
    model = whole.get("model", {})
    listed = model.get("vocab") if isinstance(model, dict) else None
    if isinstance(listed, dict):
        return {str(piece): number for piece, number in listed.items() if isinstance(number, int)}
    if isinstance(listed, list):
        return {str(each[0]): number for number, each in enumerate(listed)}
    raise ModelError("tokenizer.json holds no vocabulary", place=place, remedy=_REMEDY)


def _numbered(whole: Mapping[str, Any], told: Mapping[str, Any]) -> dict[str, int]:
    """Pieces that were added, with their numbers."""
    found: dict[str, int] = {}
    decoder = told.get("added_tokens_decoder")
    if isinstance(decoder, dict):
        found |= {str(v["content"]): int(k) for k, v in decoder.items() if str(k).isdecimal() and "content" in v}
    for each in whole.get("added_tokens") or []:
        found[str(each["content"])] = int(each["id"])
    return found


def _special(told: Mapping[str, Any]) -> dict[str, str]:
    """Names of special pieces; others than the usual ones under `others`, one a line."""
    found = {}
    for key, value in told.items():
        text = value.get("content") if isinstance(value, dict) else value
        if key.endswith("_token") and isinstance(text, str):
            found[key] = text
    others = told.get("additional_special_tokens") or told.get("extra_special_tokens") or []
    listed = (
        [each.get("content") if isinstance(each, dict) else each for each in others] if isinstance(others, list) else []
    )
    found["others"] = "\n".join(str(each) for each in listed)
    return found


def _of_sentencepiece(
    folder: Folder, told: Mapping[str, Any], *, is_t5: bool, special: Mapping[str, str]
) -> dict[str, int]:
    """Numbers by the rules of the family, where only a sentencepiece model is there."""
    data = folder.data("spiece.model") or folder.data("sentencepiece.bpe.model")
    if data is None:
        raise ModelError(
            "there is neither tokenizer.json nor a sentencepiece model", place=str(folder.path), remedy=_REMEDY
        )
    processor = _processor(data, str(folder.path))
    pieces = [str(processor.id_to_piece(n)) for n in range(processor.vocab_size())]
    if is_t5:
        extra = told.get("extra_ids", 100)
        count = extra if isinstance(extra, int) else 100
        sentinels = [f"<extra_id_{n}>" for n in reversed(range(count))]
        return {piece: n for n, piece in enumerate([*pieces, *(s for s in sentinels if s not in pieces)])}
    languages = [each for each in special.get("others", "").split("\n") if each]
    ordered = ["<s>", "<pad>", "</s>", "<unk>", *pieces[3:], *languages, "<mask>"]
    return {piece: n for n, piece in enumerate(dict.fromkeys(ordered))}


def _names(found: Found, numbering: Numbering) -> list[str]:
    """A name for each number there, none of them that of a special piece here."""
    names = [f"<unused {number}>" for number in range(numbering.size)]
    for piece, number in found.ids.items():
        if number < numbering.size:
            names[number] = f"{piece}#{number}" if piece in SPECIAL else piece
    return names


def _symbols(found: Found, architecture: Architecture, piece_of: Mapping[str, str]) -> tuple[str, ...]:
    """Pieces that texts may spell out."""
    usual = {text for key, text in found.special.items() if key not in ("others", "mask_token")}
    spelled = [piece for piece in found.added if piece not in usual and not _language(piece)]
    if architecture.family.is_t5:
        spelled += [piece for piece in found.ids if piece.startswith("<extra_id_")]
    if architecture.kind == "marian":
        spelled += [piece for piece in found.ids if _MARIAN_LANGUAGE.fullmatch(piece)]
    return tuple(dict.fromkeys(piece for piece in spelled if piece_of.get(piece) == piece and piece not in SPECIAL))


def _unsaid(found: Found, piece_of: Mapping[str, str], numbering: Numbering, forms: Sequence[str]) -> Iterator[str]:
    """Pieces with a row of their own that are no text: special ones there which are not so here."""
    for key, text in found.special.items():
        if key not in ("others", "mask_token") and text in piece_of and piece_of[text] not in SPECIAL:
            yield piece_of[text]
    theirs = numbering.begin
    named = forms[numbering.ours()[theirs]]
    if named not in SPECIAL and numbering.ours()[theirs] != BOS:
        yield named


# ---- what stands around texts --------------------------------------------------------------------------------------


def _language(piece: str) -> str:
    for pattern in (_M2M_LANGUAGE, _MARIAN_LANGUAGE):
        if match := pattern.fullmatch(piece):
            return match[1]
    return piece if _CODE.fullmatch(piece) else ""


def _frame(folder: Folder, found: Found, architecture: Architecture, piece_of: Mapping[str, str]) -> Frame:
    listed = found.special.get("others", "").split("\n")
    tagged = [*found.added, *listed, *(found.ids if architecture.kind == "marian" else ())]
    languages = {_language(piece): piece_of[piece] for piece in tagged if _language(piece) and piece in piece_of}
    match architecture.kind:
        case "marian" if languages:
            return Frame(before=(TARGET_TAG,), languages=languages)
        case "m2m_100" if folder.document("tokenizer_config.json").get("legacy_behaviour"):
            return Frame(after=(SOURCE_TAG,), first=(TARGET_TAG,), languages=languages)
        case "m2m_100":
            return Frame(before=(SOURCE_TAG,), first=(TARGET_TAG,), languages=languages)
        case "mbart" if _is_fifty(folder, architecture):
            return Frame(before=(SOURCE_TAG,), first=(TARGET_TAG,), languages=languages)
        case "mbart":  # the decoder begins with the language: see the numbering
            return Frame(after=(SOURCE_TAG,), languages=languages)
        case "bart":
            begin = piece_of[found.special.get("bos_token", "<s>")]
            return Frame(before=(begin,), first=(begin,))  # with which all that it learned begins
        case _:
            return Frame()


def _is_fifty(folder: Folder, architecture: Architecture) -> bool:
    """Whether this is mBART-50, whose decoders begin with the end and then say the language."""
    named = str(folder.document("tokenizer_config.json").get("tokenizer_class", ""))
    return "50" in named or (not named and architecture.begin == architecture.end)


# ---- what cuts -----------------------------------------------------------------------------------------------------


def _processor(model: bytes, place: str) -> Any:
    try:
        return sentencepiece.SentencePieceProcessor(model_proto=model)
    except (RuntimeError, ValueError) as error:
        raise ModelError(f"no sentencepiece model: {error}", place=place, remedy=_REMEDY) from None


def _models(folder: Folder, architecture: Architecture, found: Found) -> list[bytes]:
    """The sentencepiece model of both sides, or one of each."""
    if architecture.kind == "marian":
        sides = [folder.data("source.spm"), folder.data("target.spm")]
        given = [side for side in sides if side is not None]
        if len(given) < len(sides):
            raise ModelError("source.spm or target.spm is missing", place=str(folder.path), remedy=_REMEDY)
        return given[:1] if given[0] == given[1] else given
    model = folder.data("spiece.model") or folder.data("sentencepiece.bpe.model")
    return [_rebuilt(folder, found) if model is None else model]


def _rebuilt(folder: Folder, found: Found) -> bytes:
    """A sentencepiece model of what tokenizer.json lists."""
    whole, place = folder.document("tokenizer.json"), str(folder.path / "tokenizer.json")
    model = whole.get("model", {})
    characters = _characters(whole.get("normalizer"), place)
    unknown, added = found.unknown(place), set(found.added) | set(found.special.values())
    fallback = bool(model.get("byte_fallback"))
    match model.get("type"):
        case "Unigram":
            listed = [(str(piece), float(score)) for piece, score in model["vocab"]]
            algorithm: Any = "unigram"
        case "BPE":
            listed, algorithm = _ranked(model), "bpe"
        case other:
            raise ModelError(f"a tokenizer of type {other!r} is not known here", place=place, remedy=_REMEDY)

    def kind(piece: str, score: float) -> Kind:
        if found.ids.get(piece) == unknown:
            return "unknown"
        if piece in added or piece in SPECIAL:
            return "control"
        if fallback and re.fullmatch("<0x[0-9A-F]{2}>", piece):
            return "byte"
        return "unused" if algorithm == "bpe" and score == -float("inf") else "normal"

    pieces = [(piece, max(score, -1e30), kind(piece, score)) for piece, score in listed]
    tidy_spaces = whole.get("normalizer") is not None
    return sentencepiece_model(
        pieces, algorithm=algorithm, characters=characters, byte_fallback=fallback, tidy_spaces=tidy_spaces
    )


def _ranked(model: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Pieces with the rank of the first merge that makes them; what no merge makes is never cut out."""
    ranks: dict[str, float] = {}
    for rank, (left, right) in enumerate(_merges(model.get("merges", []))):
        ranks.setdefault(left + right, -float(rank))
    return [(str(p), ranks.get(str(p), 0.0 if len(str(p)) == 1 else -float("inf"))) for p in model.get("vocab", {})]


def _characters(normalizer: Any, place: str) -> bytes:
    """The compiled table of characters by which texts are tidied."""
    match normalizer:
        case None:
            return b""
        case {"type": "Precompiled", "precompiled_charsmap": str(table)}:
            return base64.b64decode(table)
        case {"type": "Sequence", "normalizers": list(steps)}:
            return b"".join(_characters(step, place) for step in steps)
        case {"type": "Replace", "pattern": {"Regex": " {2,}"}} | {"type": "Strip"}:
            return b""  # spaces are seen to in any case
        case _:
            kind = normalizer.get("type") if isinstance(normalizer, dict) else normalizer
            raise ModelError(f"texts are tidied in a way that is not known here: {kind}", place=place, remedy=_REMEDY)


def _merges(listed: Any) -> list[tuple[str, str]]:
    """Merges as pairs, whether they are written as pairs or with a space between."""
    pairs = [tuple(each) if isinstance(each, list) else tuple(str(each).split(" ")) for each in listed]
    return [(str(pair[0]), str(pair[1])) for pair in pairs if len(pair) == 2]


def _byte_pairs(
    folder: Folder, vocabulary: Vocabulary, silent: tuple[str, ...], kept: Mapping[str, bytes]
) -> BytePairs:
    """The tokenizer of the BART family."""
    place = str(folder.path)
    whole, told = folder.document("tokenizer.json"), folder.document("tokenizer_config.json")
    if whole:
        cutter = whole.get("pre_tokenizer") or {}
        if cutter.get("type") != "ByteLevel" or whole.get("normalizer") is not None:
            raise ModelError("only byte-level pieces are known for BART", place=place, remedy=_REMEDY)
        merges, leading = _merges(whole.get("model", {}).get("merges", [])), bool(cutter.get("add_prefix_space"))
    else:
        data = folder.data("merges.txt")
        if data is None:
            raise ModelError("merges.txt is missing", place=place, remedy=_REMEDY)
        lines = data.decode(errors="replace").split("\n")
        merges = _merges([line for line in lines if line and not line.startswith("#version")])
        leading = bool(told.get("add_prefix_space"))
    return BytePairs(
        merges,
        settings=BytePairSettings(leading_space=leading, silent=silent),
        vocabulary=vocabulary,
        normalizer=Normalizer(Normalization(spaces="keep", **_AS_IT_IS)),
        kept=kept,
    )
