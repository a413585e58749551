"""Short-lists, from pairs of texts to outputs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from dragoman import bundle as bundles
from dragoman.decoding.beam import BeamSettings
from dragoman.decoding.greedy import GreedySettings
from dragoman.decoding.sample import SampleSettings
from dragoman.errors import FileError, ModelError, SettingError
from dragoman.measures.short_list import ShortListSettings, learn_short_list
from dragoman.text.vocabulary import EOS
from dragoman.translator import Batching, Glossary, LanguageModel, Request, Translator
from dragoman.translator.short_list import with_short_list


def _listed(tiny, *arguments, **options):
    """A translator with a short-list, learned from sentences that repeat some words of their sources."""
    bundle = with_short_list(
        tiny.bundle(*arguments, **options),
        [text for text in tiny.sentences if text],
        [" ".join(text.split()[::2]) for text in tiny.sentences if text],
        settings=ShortListSettings(most=60, frequent=3),
    )
    return Translator(bundle, device=torch.device("cpu"), batching=Batching(places=5))


@pytest.mark.parametrize("family", ["recurrent", "transformer", "prefix_lm"])
def test_a_short_list_that_holds_all_changes_nothing(tiny, family):
    model = _listed(tiny, family)
    everything = learn_short_list([[0]], [[0]], source_size=1, always=range(model.bundle.description.target_vocabulary))
    sources = model.bundle.description.target_vocabulary
    everything = replace(everything, offsets=np.zeros(sources + 1, dtype=np.int64))
    model = Translator(replace(model.bundle, short_list=everything), device=torch.device("cpu"))
    for settings in (BeamSettings(beam=3, nbest=2), SampleSettings(seed=3), GreedySettings()):
        plain = model.translate(tiny.sentences, decoding=settings)
        found = model.translate(tiny.sentences, decoding=settings, request=Request(short_list=1))
        assert [t.text for t in found] == [t.text for t in plain]
        assert [t.log_prob for t in found] == pytest.approx([t.log_prob for t in plain], abs=1e-4)


@pytest.mark.parametrize("family", ["recurrent", "transformer"])
def test_with_a_short_list_only_its_words_are_said_whatever_shares_the_batch(tiny, family):
    model = _listed(tiny, family, sharpness=3.0)
    tokenizer, learned = model.bundle.tokenizers.target, model.bundle.short_list
    texts = tiny.sentences[:40]
    request = Request(short_list=2)
    found = model.translate(texts, request=request)
    assert [t.text for t in found] != [t.text for t in model.translate(texts)]
    pieces = tokenizer.vocabulary.pieces
    for text, each in zip(texts, found, strict=True):
        read = tokenizer.encode(text)
        allowed = {pieces[i] for i in learned.words(read, count=2, also=[*read, EOS])}
        assert {token.text for token in each.tokens} <= allowed
        alone = model.translate(text, request=request)
        assert (alone.text, alone.score) == (each.text, pytest.approx(each.score, abs=1e-4))


def test_what_must_be_said_is_on_the_short_list(tiny):
    model = _listed(tiny, "transformer")
    request = Request(short_list=1, glossary=Glossary.of({"cat": "7 1984"}))
    found = model.translate(["the cat", "a cat sat"], prefixes=["Ann met", "nobody"], request=request)
    for each, prefix in zip(found, ("Ann met", "nobody"), strict=True):
        assert each.text.startswith(prefix)
        assert "7 1984" in each.text


def test_short_lists_with_traces_ensembles_and_language_models(tiny):
    texts, request = tiny.sentences[:10], Request(short_list=2)
    one, two = _listed(tiny, "transformer").bundle, tiny.bundle("recurrent", seed=1)
    both = Translator(one, two, device=torch.device("cpu"))
    helped = Translator(
        one, device=torch.device("cpu"), language_model=LanguageModel(tiny.bundle("recurrent_lm"), weight=0.3)
    )
    for model, settings in ((both, BeamSettings()), (both, BeamSettings(coverage=0.2)), (helped, BeamSettings())):
        together = model.translate(texts, decoding=settings, request=request)
        alone = [model.translate(text, decoding=settings, request=request) for text in texts]
        assert [t.text for t in together] == [t.text for t in alone]


def test_short_lists_that_cannot_be(tiny):
    with pytest.raises(SettingError, match=r"short_list: this model has no short-list.*dragoman shortlist"):
        tiny.translator("transformer").translate("the cat", request=Request(short_list=5))
    with pytest.raises(ModelError, match="reads no source words"):
        with_short_list(tiny.bundle("recurrent_lm"), ["a"], ["a"])


def test_a_short_list_is_kept_in_the_bundle(tiny, tmp_path):
    model = _listed(tiny, "transformer")
    bundles.save(model.bundle, tmp_path / "model")
    kept = bundles.load(tmp_path / "model").short_list
    for name, values in model.bundle.short_list.arrays().items():
        assert np.array_equal(kept.arrays()[name], values)
    bundles.save(replace(model.bundle, short_list=replace(kept, offsets=kept.offsets[:-1])), tmp_path / "other")
    with pytest.raises(FileError, match="does not fit the vocabularies"):
        bundles.load(tmp_path / "other")


def test_a_short_list_of_less_than_nothing_is_refused():
    with pytest.raises(SettingError, match="short_list: -1 translations of a word"):
        Request(short_list=-1)
