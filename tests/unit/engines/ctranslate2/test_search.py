"""Searches run by CTranslate2 beside our own, token by token."""

from __future__ import annotations

import msgspec
import pytest
import torch

from dragoman import bundle as bundles
from dragoman.decoding.beam import BeamSettings
from dragoman.decoding.diverse import DiverseSettings
from dragoman.decoding.filters import FilterSettings, LengthLimits
from dragoman.decoding.greedy import GreedySettings
from dragoman.decoding.sample import SampleSettings
from dragoman.engines.ctranslate2.search import options
from dragoman.errors import SettingError
from dragoman.models import presets
from dragoman.translator import Alignments, Glossary, Request, load
from reference.bundles import bundle, sentences, small

SENTENCES = sentences(24)


def filters(**more):
    return FilterSettings(lengths=LengthLimits(most=16, **more))


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """The same model, once run by torch and once by CTranslate2."""
    folder = tmp_path_factory.mktemp("model")
    bundles.save(bundle(small(presets.marian()), end=6.0), folder / "model")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        torch.set_num_threads(1)
        return load(folder / "model", device="cpu"), load(folder / "model", device="cpu", engine="ctranslate2")


def tokens(translations):
    return [[token.text for token in each.tokens] for each in translations]


def both(pair, decoding, request=None, prefixes=None):
    request = request or Request()
    return [each.translate(SENTENCES, decoding=decoding, request=request, prefixes=prefixes) for each in pair]


@pytest.mark.parametrize(
    ("settings", "request_"),
    [
        (GreedySettings(filters=filters()), Request()),
        (GreedySettings(filters=filters(least=7)), Request()),
        (GreedySettings(filters=msgspec.structs.replace(filters(least=7), no_repeat=1)), Request()),
        (GreedySettings(filters=filters()), Request(banned=("a", "the", "le", "e"))),
        (BeamSettings(beam=1, filters=filters()), Request()),
    ],
)
def test_greedy_search_is_the_same_token_by_token(pair, settings, request_):
    ours, theirs = both(pair, settings, request_)
    assert tokens(ours) == tokens(theirs)
    assert [each.text for each in ours] == [each.text for each in theirs]
    for mine, other in zip(ours, theirs, strict=True):
        assert other.score == pytest.approx(mine.score, abs=1e-3)
        assert [t.log_prob for t in other.tokens] == pytest.approx([t.log_prob for t in mine.tokens], abs=1e-3)
        assert other.notes == mine.notes
    assert len({len(each.tokens) for each in ours}) > 1


def test_prefixes(pair):
    given = ["un chat", ""] * (len(SENTENCES) // 2)
    ours, theirs = both(pair, GreedySettings(filters=filters()), prefixes=given)
    assert tokens(ours) == tokens(theirs)
    assert theirs[0].text.startswith("un chat")


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_beam_search_finds_much_the_same(pair, alpha):
    ours, theirs = both(pair, BeamSettings(beam=4, alpha=alpha, nbest=2, filters=filters()))
    same = sum(mine == other for mine, other in zip(tokens(ours), tokens(theirs), strict=True))
    assert same >= 0.5 * len(SENTENCES)  # random weights: their hypotheses lie close together
    for each in theirs:
        assert len(each.alternatives) == 1
        assert each.score == pytest.approx(each.log_prob / len(each.tokens) ** alpha)
        assert [t.text for t in each.tokens] != [t.text for t in each.alternatives[0].tokens]


def test_log_probabilities_are_those_that_our_model_gives_the_output(pair):
    own, other = pair
    for each in other.translate(SENTENCES, decoding=BeamSettings(beam=4, filters=filters())):
        if each.best.finished:
            encoded = own.bundle.tokenizers.target.encode(each.text)
            pieces = [own.bundle.tokenizers.target.vocabulary.pieces[i] for i in encoded]
            if pieces == [t.text for t in each.tokens][:-1]:  # the text is cut as the model said it
                assert each.log_prob == pytest.approx(own.score([each.source], [each.text])[0].log_prob, abs=1e-3)


def test_what_is_asked_beside_the_search_is_done_as_ever(pair):
    ours, theirs = both(pair, GreedySettings(filters=filters()), Request(alignments=Alignments()))
    assert [each.alignment for each in ours] == [each.alignment for each in theirs]


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        (SampleSettings(), "decoding.kind"),
        (DiverseSettings(), "decoding.kind"),
        (BeamSettings(normalization="gnmt"), "decoding.normalization"),
        (BeamSettings(coverage=0.1), "decoding.coverage"),
        (BeamSettings(stop="exact"), "decoding.stop"),
        (GreedySettings(filters=FilterSettings(repetition_penalty=1.2)), "decoding.filters.repetition_penalty"),
    ],
)
def test_searches_that_it_has_not_are_refused(pair, settings, place):
    with pytest.raises(SettingError, match="the engine ctranslate2 cannot do this") as caught:
        options(settings)
    assert caught.value.place == place
    with pytest.raises(SettingError):
        pair[1].translate("a cat", decoding=settings)


def test_required_words_and_too_long_outputs_are_refused(pair):
    with pytest.raises(SettingError, match="cannot be made to say given words"):
        pair[1].translate("a cat", request=Request(glossary=Glossary.of({"cat": "chat"})))
    long = GreedySettings(filters=FilterSettings(lengths=LengthLimits(most=5000, most_extra=4000)))
    with pytest.raises(SettingError, match="1024 positions"):
        pair[1].translate("a cat", decoding=long)


def test_an_unknown_number_format_is_refused(pair, tmp_path, monkeypatch):
    import ctranslate2

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(ctranslate2, "get_supported_compute_types", lambda _device: {"float32", "int8"})
    bundles.save(bundle(), tmp_path / "model")
    with pytest.raises(SettingError, match=r"does not compute in bfloat16.*Choose one of float32, int8"):
        load(tmp_path / "model", device="cpu", engine="ctranslate2", precision="bfloat16")


def test_int8(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    bundles.save(bundle(), tmp_path / "model")
    quick = load(tmp_path / "model", device="cpu", engine="ctranslate2", precision="int8")
    assert all(each.tokens for each in quick.translate(SENTENCES[:4], decoding=GreedySettings(filters=filters())))


def test_ensembles_are_refused(tmp_path):
    bundles.save(bundle(), tmp_path / "model")
    with pytest.raises(SettingError, match="runs one model"):
        load(tmp_path / "model", tmp_path / "model", engine="ctranslate2")
