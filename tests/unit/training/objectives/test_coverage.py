"""Coverage against a loop over positions, and the attention that is priced against that which is shown."""

from __future__ import annotations

import pytest
import torch
from msgspec.structs import replace

from dragoman.bundle import Bundle, Description
from dragoman.errors import ModelError, SettingError
from dragoman.models.attention import AttentionSettings
from dragoman.models.build import build
from dragoman.models.dropout import DropoutSettings
from dragoman.models.presets import gru_tiny
from dragoman.models.transformer_lm import PrefixLMSettings
from dragoman.training.objectives.build import build_objective
from dragoman.training.objectives.coverage import Coverage, Covering, looked_at_again
from dragoman.training.objectives.cross_entropy import TeacherForcing
from dragoman.training.objectives.objective import counting, source_of
from reference.objectives import ATTENTIVE, MODELS, WORDS, assert_same, model_and_batch, run


def made(settings):
    _, batch = model_and_batch("transformer")
    torch.manual_seed(1)
    return build(settings, target_vocabulary=WORDS).train(), batch


def by_hand(weights_BTS, lengths):
    """Position by position."""
    total = 0.0
    for weights_TS, length in zip(weights_BTS, lengths, strict=True):
        for t in range(length):
            for s in range(weights_TS.shape[1]):
                before = sum(weights_TS[u, s] for u in range(t))
                total = total + torch.minimum(weights_TS[t, s], torch.as_tensor(before))
    return total


@pytest.mark.parametrize(("name", "layer", "head"), [
    ("transformer", -1, None), ("transformer", 1, 0), ("transformer", -3, 1), ("ssru", 2, None),
    ("luong", -1, None), ("feeding", 0, 0), ("bahdanau", -1, -1), ("copying", 0, None),
])  # fmt: skip
def test_value_and_gradient(name, layer, head):
    model, batch = made(ATTENTIVE[name])
    objective = Covering(Coverage(weight=0.7, layer=layer, head=head, smoothing=0.1))

    def plain():
        forced = TeacherForcing(0.1)(model, batch, scale=0.25)
        attended = model.attended(source_of(batch), batch.inputs_BT, batch.target_lengths_B, layer=layer)
        chosen = attended.weights_BHTS.mean(1) if head is None else attended.weights_BHTS[:, head]
        again = by_hand(chosen, batch.target_lengths_B.tolist())
        (again * 0.7 * 0.25).backward()
        return forced.objective + 0.7 * again.item(), forced.nll

    sums, found = run(model, lambda: objective(model, batch, scale=0.25))
    (value, nll), expected = run(model, plain)
    assert sums.objective == pytest.approx(value, rel=1e-5)
    assert sums.nll == pytest.approx(nll, rel=1e-5)
    assert_same(found, expected)
    assert value > nll


@pytest.mark.parametrize("name", ATTENTIVE)
def test_the_attention_is_that_which_is_shown(name):
    model, batch = made(ATTENTIVE[name])
    given = (source_of(batch), batch.inputs_BT, batch.target_lengths_B)
    shown = model.attention_weights(*given).cross_LBHTS
    for layer in range(len(shown)):
        attended = model.attended(*given, layer=layer)
        inside = counting(batch)[:, None, :, None]
        torch.testing.assert_close(attended.weights_BHTS * inside, shown[layer] * inside)
        torch.testing.assert_close(attended.hidden.vectors_ND, model.hidden(*given).vectors_ND)
        assert attended.weights_BHTS.requires_grad


def test_looking_ever_elsewhere_costs_nothing_and_staring_everything():
    everywhere = torch.ones(1, 3, dtype=torch.bool)
    assert looked_at_again(torch.eye(3)[None], everywhere) == 0
    staring = torch.tensor([[[1.0, 0, 0]] * 3])
    assert looked_at_again(staring, everywhere) == 2
    assert looked_at_again(staring, torch.tensor([[True, True, False]])) == 1


def test_it_learns_to_look_elsewhere():
    model, batch = made(ATTENTIVE["luong"])
    objective = Covering(Coverage(weight=3.0, smoothing=0.0))

    def again():
        with torch.no_grad():
            given = (source_of(batch), batch.inputs_BT, batch.target_lengths_B)
            return float(looked_at_again(model.attended(*given, layer=0).weights_BHTS[:, 0], counting(batch)))

    before = again()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(40):
        optimizer.zero_grad()
        objective(model, batch, scale=1 / 20)
        optimizer.step()
    assert again() < before / 2


def test_a_dropped_layer_is_not_priced():
    model, batch = made(replace(ATTENTIVE["transformer"], dropout=DropoutSettings(hidden=0.0, layers=0.999)))
    sums, _ = run(model, lambda: Covering(Coverage(smoothing=0.0))(model, batch, scale=1.0))
    assert sums.objective == pytest.approx(sums.nll)


def built(model, objective):
    description = Description(model=model, source_vocabulary=None, target_vocabulary=WORDS)
    bundle = Bundle(description, build(model, target_vocabulary=WORDS), None)
    return build_objective(objective, bundle=bundle, device=torch.device("cpu"), seed=1)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (MODELS["language model"], "a model of kind 'transformer_lm' has no attention to the source alone"),
        (
            PrefixLMSettings(size=16, layers=1, attention=AttentionSettings(heads=2)),
            "'prefix_lm' has no",
        ),
        (replace(gru_tiny(), attention=None), "this recurrent model has no attention"),
    ],
)
def test_models_without_attention_to_a_source_are_refused(model, told):
    with pytest.raises(ModelError, match=told):
        built(model, Coverage())


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (Coverage(layer=3), "no layer 3 among 3"),
        (Coverage(layer=-4), "no layer -4"),
        (Coverage(head=2), "no head 2 among 2"),
    ],
)
def test_layers_and_heads_that_are_not_there_are_refused(settings, told):
    with pytest.raises(SettingError, match=told):
        built(ATTENTIVE["transformer"], settings)
