"""From a recipe's corpora to tokenizers, stores and batches."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from dragoman import bundle as bundles
from dragoman.bundle import Frame
from dragoman.data import corpus
from dragoman.data.corpus import Features, Mono
from dragoman.data.encoding import Encoder, FeatureEncoder, TextEncoder, feature_width
from dragoman.data.loader import Loader, Sampling
from dragoman.data.noise import symbols_of
from dragoman.data.order import Order
from dragoman.data.preparation import Part, identity, prepare
from dragoman.errors import FileError, SettingError, TextError
from dragoman.files import new_folder, verify
from dragoman.recipe.starting import starting_bundle, tagged_languages
from dragoman.recipe.tasks import alignments_of, made_of, noise_of, prompts_of, refuse_misfits
from dragoman.text import build as text
from dragoman.text.build import Tokenizers, train_tokenizers
from dragoman.text.markup import language_tag
from dragoman.text.normalize import Normalizer
from dragoman.text.subword import BpeSettings, Subword, UnigramSettings
from dragoman.translator.loading import bundle_folder
from dragoman.translator.reader import framing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dragoman.bundle import Bundle
    from dragoman.data.alignments import Alignments
    from dragoman.data.corpus import Corpus, CorpusSettings, Pair
    from dragoman.data.store import Store
    from dragoman.recipe.schema import Recipe
    from dragoman.text.build import TokenizerSettings
    from dragoman.text.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Data:
    """What was made of the data: tokenizers, and stores of the training and validation pairs."""

    base: Bundle | None
    """The model that training goes on from."""
    tokenizers: Tokenizers
    train: Store
    valid: Store | None
    sources: tuple[str, ...]
    """Texts of the validation pairs; none where sources are not text."""
    references: tuple[str, ...]
    alignments: Alignments | None = None
    """Word alignments of the training pairs, where the objective asks for them."""


def prepare_data(recipe: Recipe, folder: Path) -> Data:
    """Tokenizers and stores in the folder, made anew only where data or settings have changed."""
    corpora = [_corpus(recipe, settings) for settings in recipe.data.train]
    sources, targets = _Texts(corpora, side="source"), _Texts(corpora, side="target")
    base = starting_bundle(recipe, folder, sources=sources, targets=targets)
    refuse_misfits(recipe, base)
    tokenizers = _sampling_as(recipe, base) if base else _tokenizers(recipe, corpora, folder / "text")
    encoder = _encoder(recipe, corpora, tokenizers)
    parts = [
        _part(recipe, settings, pairs, base=base, tokenizers=tokenizers)
        for pairs, settings in zip(corpora, recipe.data.train, strict=True)
    ]
    workers = recipe.store.processes()
    store = prepare(folder / "data" / "train", parts, encoder=encoder, workers=workers)
    alignments = alignments_of(recipe, corpora, store, folder / "data" / "alignments")
    if recipe.data.valid is None:
        return Data(base, tokenizers, store, None, (), (), alignments)
    known = tagged_languages(recipe, tokenizers.source.vocabulary.symbols, base)
    if known and recipe.data.valid.target_language not in known:
        raise SettingError(
            f"the model is to know {', '.join(known)}, and nobody says which of them the validation pairs have",
            place="data.valid.target_language",
            remedy="Name it.",
        )
    held_out = _corpus(recipe, recipe.data.valid)
    part = _part(recipe, recipe.data.valid, held_out, base=base, tokenizers=tokenizers)
    valid = prepare(folder / "data" / "valid", [part], encoder=encoder, workers=0)
    is_text = not isinstance(recipe.data.valid, Mono | Features)
    pairs = list(held_out) if is_text else []
    texts = tuple(p.source for p in pairs), tuple(p.target for p in pairs)
    return Data(base, tokenizers, store, valid, *texts, alignments)


def training_loader(recipe: Recipe, prepared: Data) -> Loader:
    """The batches to train on."""
    training, store, base = recipe.training, prepared.train, prepared.base
    weights = [c.weight for c in recipe.data.train]
    order = Order.of(
        store,
        batch_tokens=training.batch_tokens,
        seed=training.seed,
        weights=weights,
        source_end=_source_end(base),
        made_of=made_of(recipe, base),
    )
    tokenizers = prepared.tokenizers
    is_text = store.source is not None and store.source.text is not None
    sampling = Sampling(
        source=tokenizers.source if is_text else None,
        target=tokenizers.target if store.target.text is not None else None,
    )
    return Loader(
        store=store,
        order=order,
        sampling=sampling,
        noise=noise_of(recipe, tokenizers),
        prompts=prompts_of(recipe, base),
        alignments=prepared.alignments,
        workers=training.workers,
    )


def valid_loader(recipe: Recipe, prepared: Data, store: Store) -> Loader:
    """The validation batches: as large as in training, or as large as the longest pair asks for."""
    base, rows = prepared.base, made_of(recipe, prepared.base)
    source = 0 if store.source is None else int(store.source.sequences.lengths().max()) + 1
    target = int(store.target.sequences.lengths().max()) + 1
    longest = source + target if rows == "joined" else max(source, target)
    batch_tokens = max(recipe.training.batch_tokens, longest)
    return Loader(
        store=store,
        order=Order.of(store, batch_tokens=batch_tokens, seed=0, source_end=_source_end(base), made_of=rows),
        noise=noise_of(recipe, prepared.tokenizers),
        prompts="given" if rows == "joined" else "none",
    )


def training_pairs(recipe: Recipe) -> Iterator[Pair]:
    """The training pairs, corpus after corpus."""
    return (pair for settings in recipe.data.train for pair in _corpus(recipe, settings))


def _source_end(base: Bundle | None) -> bool:
    return base is None or base.description.source_end


def _corpus(recipe: Recipe, settings: CorpusSettings) -> Corpus:
    return corpus.build(settings, on_bad=recipe.data.on_bad, longest_line=recipe.data.longest_line)


def _identity(settings: CorpusSettings, pairs: Corpus) -> str:
    """The identity of a corpus: what its files hold, and how they are read."""
    return " ".join(filter(None, (identity(pairs.files), corpus.manner(settings))))


def _tokenizers(recipe: Recipe, corpora: Sequence[Corpus], folder: Path) -> Tokenizers:
    """The tokenizers in the folder if they were learned from these corpora by these settings, else new ones."""
    settings = _with_tags(recipe)
    read = zip(recipe.data.train, corpora, strict=True)
    facts = (settings, [_identity(*each) for each in read], recipe.data.on_bad)
    wanted = hashlib.sha256(msgspec.json.encode(facts)).hexdigest()
    place = folder / wanted[:16]
    with contextlib.suppress(FileError):  # not there, or damaged: they are made again
        verify(place)
        return _loaded(place)
    one_sided = isinstance(recipe.data.train[0], Mono | Features)
    if settings.like:
        trained = _like(settings, one_sided=one_sided)
    else:
        with _refusals_placed(settings, corpora, sides=("target",) if one_sided else ("source", "target")):
            trained = _learned(settings, corpora, one_sided=one_sided)
    for left in folder.glob(f"{'[0-9a-f]' * 16}*"):  # of other settings or data; other things may lie there too
        shutil.rmtree(left)
    with new_folder(place) as fresh:
        for name, tokenizer in (("source", trained.source), ("target", trained.target)):
            if name == "source" or not trained.joint:
                (fresh / name).mkdir()
                text.save(tokenizer, fresh / name)
    return _loaded(place)


def _learned(settings: text.TextSettings, corpora: Sequence[Corpus], *, one_sided: bool) -> Tokenizers:
    sources, targets = _Texts(corpora, side="source"), _Texts(corpora, side="target")
    if not one_sided:
        return train_tokenizers(settings, sources=sources, targets=targets)
    only = text.train_tokenizer(settings.source, settings, texts=targets, size=settings.vocabulary_size)
    return Tokenizers(only, only)


@contextlib.contextmanager
def _refusals_placed(settings: text.TextSettings, corpora: Sequence[Corpus], *, sides: Sequence[str]) -> Iterator[None]:
    """Names the file and line of a text that the normalisation refuses, for which the corpora are read once more."""
    try:
        yield
    except TextError:
        normalizer = Normalizer(settings.normalization)
        for pair in (pair for pairs in corpora for pair in pairs):
            try:
                for side in sides:
                    normalizer(getattr(pair, side))
            except TextError as error:
                place = f"{pair.file}:{pair.line}, {error.place}"
                raise TextError(error.problem, place=place, remedy=error.remedy) from None
        raise


def _like(settings: text.TextSettings, *, one_sided: bool) -> Tokenizers:
    """The tokenizers of a trained model; a run with targets alone takes that of its targets."""
    known = bundles.load_tokenizers(bundle_folder(Path(settings.like)))
    if strange := sorted(set(settings.symbols) - set(known.source.vocabulary.symbols)):
        raise SettingError(
            f"the tokenizers of {settings.like} do not know {', '.join(strange)}",
            place="text.like",
            remedy="Learn new ones: leave text.like out.",
        )
    return Tokenizers(known.target, known.target) if one_sided else known


def _sampling_as(recipe: Recipe, base: Bundle) -> Tokenizers:
    """The tokenizers of the model, cutting at random as the run file says, if it says anything."""
    own = base.tokenizers
    if recipe.text is None:
        return own
    source = _with_settings(own.source, recipe.text.source)
    return Tokenizers(
        source, source if own.joint else _with_settings(own.target, recipe.text.target or recipe.text.source)
    )


def _with_settings(tokenizer: Tokenizer, settings: TokenizerSettings) -> Tokenizer:
    if not isinstance(tokenizer, Subword) or not isinstance(settings, BpeSettings | UnigramSettings):
        return tokenizer
    return Subword(
        tokenizer.model,
        settings=settings,
        symbols=tokenizer.vocabulary.symbols,
        normalizer=tokenizer.normalizer,
        merges=tokenizer.merges,
    )


def _loaded(folder: Path) -> Tokenizers:
    source = text.load(folder / "source")
    return Tokenizers(source, text.load(folder / "target") if (folder / "target").exists() else source)


@dataclass(frozen=True, slots=True)
class _Texts:
    """One side of some corpora, as often as it is asked for."""

    corpora: Sequence[Corpus]
    side: str

    def __iter__(self) -> Iterator[str]:
        return (getattr(pair, self.side) for pairs in self.corpora for pair in pairs)


def _with_tags(recipe: Recipe) -> text.TextSettings:
    """The text settings with a symbol for each language that is asked for by a tag, and those of the noise."""
    settings = recipe.cutting
    tags = [language_tag(language) for language in tagged_languages(recipe, settings.symbols)]
    marks = () if recipe.data.noise is None else symbols_of(recipe.data.noise)
    return msgspec.structs.replace(settings, symbols=tuple(dict.fromkeys([*settings.symbols, *tags, *marks])))


def _part(
    recipe: Recipe, settings: CorpusSettings, pairs: Corpus, *, base: Bundle | None, tokenizers: Tokenizers
) -> Part:
    """The corpus with what stands before its sources and targets."""
    before = _prefix(recipe, settings, tokenizers)
    first: tuple[int, ...] = ()
    if base is not None and isinstance(base.description.frame, Frame):
        frame, languages = base.description.frame, (settings.source_language, settings.target_language)
        before, first = (
            tuple(
                framing(
                    pieces,
                    base.description,
                    tokenizers.source.vocabulary,
                    source_language=languages[0],
                    target_language=languages[1],
                )
            )
            for pieces in (frame.before, frame.first)
        )
    return Part(pairs.read(), _identity(settings, pairs), source_prefix=before, target_prefix=first)


def _prefix(recipe: Recipe, settings: CorpusSettings, tokenizers: Tokenizers) -> tuple[int, ...]:
    if settings.target_language not in tagged_languages(recipe, tokenizers.source.vocabulary.symbols):
        return ()
    return (tokenizers.source.vocabulary.symbol(language_tag(settings.target_language)),)


def _encoder(recipe: Recipe, corpora: Sequence[Corpus], tokenizers: Tokenizers) -> Encoder:
    kinds = {type(c) if isinstance(c, Mono | Features) else None for c in recipe.data.train}
    if len(kinds) > 1:
        raise SettingError(
            "corpora of pairs, of features and of single texts cannot be mixed",
            place="data.train",
            remedy="Use one sort in a run.",
        )
    side = partial(TextEncoder, keep_text=True)
    target = side(tokenizers.target, recipe.store.longest_target)
    match recipe.data.train[0]:
        case Mono():
            return Encoder(None, target)
        case Features():
            width = feature_width(next(iter(corpora[0])).source)
            return Encoder(FeatureEncoder(width, recipe.store.longest_source), target)
        case _:
            return Encoder(side(tokenizers.source, recipe.store.longest_source), target)
