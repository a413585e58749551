"""CTranslate2 computes what our model computes, for each architecture that it has; the others are refused."""

from __future__ import annotations

import ctranslate2
import msgspec
import pytest
import torch

from dragoman.decoding.filters import FilterSettings, LengthLimits
from dragoman.decoding.greedy import GreedySettings
from dragoman.engines.ctranslate2.conversion import write
from dragoman.engines.ctranslate2.layout import check_can_be_converted, specification
from dragoman.errors import ModelError
from dragoman.models import presets
from dragoman.models.adapters import AdapterSettings, adapt
from dragoman.models.features import FeatureSettings
from dragoman.models.positions import LearnedSettings, NoPositions, RotarySettings
from dragoman.text.build import TextSettings
from dragoman.text.words import WordSettings
from dragoman.translator import Translator
from reference.bundles import PLAIN, bundle, sentences, small

GREEDY = GreedySettings(filters=FilterSettings(lengths=LengthLimits(most=20)))
replace = msgspec.structs.replace
KINDS = {
    "plain": PLAIN,
    "learned": replace(PLAIN, positions=LearnedSettings(longest=64)),
    "no positions": replace(PLAIN, positions=NoPositions()),
    "epsilon": replace(PLAIN, norm=replace(PLAIN.norm, epsilon=1e-2)),
    "untied": replace(PLAIN, embedding=replace(PLAIN.embedding, tied_output=False)),
    "gated": replace(PLAIN, feedforward=replace(PLAIN.feedforward, gated=True)),
    **{
        name: small(getattr(presets, name)())
        for name in ("vaswani_base", "marian", "bart", "mbart", "nllb", "t5", "t5_v1_1")
    },
}
SHARP = {"bart": 3.0, "mbart": 4.0, "marian": 4.0}
"""How much weights are enlarged, where it takes more for outputs that differ from source to source."""


def compared(made, folder):
    """Our greedy outputs with the log-probability that each of their tokens has here and there."""
    write(made, folder)
    model = ctranslate2.Translator(str(folder), compute_type="float32", intra_threads=1)
    source = made.tokenizers.source
    for each in Translator(made, device=torch.device("cpu")).translate(sentences(), decoding=GREEDY):
        pieces = [piece.form for piece in source.pieces(each.source)]
        tokens = [token.text for token in each.tokens]
        (output,) = model.translate_batch(
            [pieces], beam_size=1, max_decoding_length=20, min_decoding_length=0, return_end_token=True
        )
        (scored,) = model.score_batch([pieces], [tokens[:-1] if each.best.finished else tokens])
        yield tokens, output.hypotheses[0], [token.log_prob for token in each.tokens], scored.log_probs[: len(tokens)]


@pytest.mark.parametrize("name", KINDS)
def test_the_same_log_probabilities_and_greedy_outputs(tmp_path, name):
    seen = set()
    for tokens, output, ours, theirs in compared(bundle(KINDS[name], sharpness=SHARP.get(name, 1.6)), tmp_path):
        assert output == tokens
        assert theirs == pytest.approx(ours, abs=1e-3)
        seen.add(tuple(tokens))
    assert len(seen) > 3


def test_two_vocabularies(tmp_path):
    settings = replace(PLAIN, embedding=replace(PLAIN.embedding, shared=False))
    made = bundle(settings, text=TextSettings(source=WordSettings(), joint=False))
    assert all(output == tokens for tokens, output, _, _ in compared(made, tmp_path))


def test_what_adapters_add_is_exported(tmp_path):
    made = bundle()
    adapt(made.model, AdapterSettings())
    with torch.no_grad():
        for name, parameter in made.model.named_parameters():
            if name.endswith("up"):
                parameter.normal_(std=0.3)
    for tokens, output, ours, theirs in compared(made, tmp_path):
        assert output == tokens
        assert theirs == pytest.approx(ours, abs=1e-3)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (replace(presets.gru_tiny(), size=16), "of kind 'recurrent'"),
        (replace(PLAIN, decoder="ssru"), "the recurrence SSRU"),
        (replace(PLAIN, copying=True), "no pointer that copies"),
        (replace(PLAIN, positions=RotarySettings()), "no rotary positions"),
        (replace(PLAIN, attention=replace(PLAIN.attention, key_heads=1)), "as many heads of keys"),
        (replace(PLAIN, embedding=replace(PLAIN.embedding, output_transformed=True)), "no further map"),
        (
            replace(PLAIN, features=FeatureSettings(size=3), embedding=replace(PLAIN.embedding, shared=False)),
            "reads feature vectors",
        ),
    ],
)
def test_what_it_cannot_run_is_refused_with_the_reason_and_the_remedy(settings, reason):
    with pytest.raises(ModelError, match=reason) as caught:
        check_can_be_converted(bundle(settings))
    assert "engine torch" in caught.value.remedy


def test_a_specification_has_every_weight():
    specification(bundle()).validate()
