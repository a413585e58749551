"""The pointer: probabilities against the formula, at the edges of what numbers can hold, and in the Transformer."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dragoman.models.build import build
from dragoman.models.copying import Pointer, mixed
from dragoman.models.embedding import Output
from dragoman.models.presets import gru_tiny, tiny
from dragoman.models.seq2seq import Copying, Hidden, Source
from reference import recurrent as reference

WORDS = 9
IDS = torch.tensor([[4, 5, 4, 8], [6, 7, 0, 0]])


def _case(dtype=torch.float64):
    torch.manual_seed(3)
    attention = torch.softmax(torch.randn(5, 4, dtype=dtype), dim=1)
    sentence = torch.tensor([0, 0, 1, 0, 1])
    attention[sentence == 1, 2:] = 0
    attention = attention / attention.sum(1, keepdim=True)
    return torch.randn(5, WORDS, dtype=dtype), torch.randn(5, 1, dtype=dtype), Copying(attention, IDS, sentence)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
def test_the_mixture_follows_the_formula(dtype, tolerance):
    logits, gate, copying = _case(dtype)
    log_probs = mixed(logits, gate, copying)
    for row in range(5):
        ids = IDS[copying.sentence_N[row]].tolist()
        attention = copying.attention_NS[row].double().numpy()
        expected = reference.copied(logits[row].double().numpy(), float(gate[row]), attention, ids)
        np.testing.assert_allclose(log_probs[row].exp().double(), expected, rtol=0, atol=tolerance)


def test_gradcheck():
    logits, gate, copying = _case()

    def function(logits, gate, attention):
        return mixed(logits, gate, Copying(attention, IDS, copying.sentence_N))

    attention = (copying.attention_NS + 0.01).requires_grad_()
    assert torch.autograd.gradcheck(function, (logits.requires_grad_(), gate.requires_grad_(), attention))


@given(
    gate=st.floats(-200, 200),
    height=st.floats(-300, 300),
    attention=st.lists(st.sampled_from([0.0, 1e-40, 1e-20, 0.3, 1.0]), min_size=4, max_size=4).filter(any),
)
def test_extremes_stay_finite_and_sum_to_one(gate, height, attention):
    logits = torch.zeros(1, WORDS)
    logits[0, 4] = height
    logits.requires_grad_()
    gate_11 = torch.tensor([[gate]], requires_grad=True)
    weights = torch.tensor([attention])
    weights = (weights / weights.sum()).requires_grad_()
    log_probs = mixed(logits, gate_11, Copying(weights, IDS, torch.tensor([0])))
    assert not log_probs.isnan().any()
    assert log_probs.max() < 1e-5
    torch.testing.assert_close(
        log_probs.double().exp().sum(), torch.tensor(1.0, dtype=torch.float64), atol=1e-5, rtol=0
    )
    log_probs.clamp(min=-100).sum().backward()
    for leaf in (logits, gate_11, weights):
        assert leaf.grad.isfinite().all()


def test_a_word_of_the_source_alone_receives_probability_and_gradient():
    logits = torch.zeros(1, WORDS)
    logits[0, 8] = -300.0  # the generator never says it
    attention = torch.tensor([[0.1, 0.1, 0.1, 0.7]], requires_grad=True)
    gate = torch.zeros(1, 1, requires_grad=True)
    log_probs = mixed(logits, gate, Copying(attention, IDS, torch.tensor([0])))
    torch.testing.assert_close(log_probs[0, 8].exp(), torch.tensor(0.35))
    log_probs[0, 8].backward()
    torch.testing.assert_close(attention.grad, torch.tensor([[0.0, 0.0, 0.0, 1 / 0.7]]))
    assert gate.grad.item() < 0


def test_bfloat16_logits_are_mixed_in_float32():
    logits, gate, copying = _case(torch.float32)
    assert mixed(logits.bfloat16(), gate.bfloat16(), copying).dtype is torch.float32


def test_a_map_takes_source_ids_to_target_ids():
    torch.manual_seed(0)
    generator = Output.separate(WORDS, 3)
    hidden = Hidden(torch.randn(5, 3), _case(torch.float32)[2])
    mapping = torch.tensor([0, 1, 2, 3, 7, 7, 7, 7, 3])
    pointer = Pointer(generator, 3, mapping)
    plain = Pointer(generator, 3)
    plain.gate = pointer.gate
    mapped = Hidden(hidden.vectors_ND, Copying(hidden.copying.attention_NS, mapping[IDS], hidden.copying.sentence_N))
    torch.testing.assert_close(pointer(hidden), plain(mapped))
    torch.testing.assert_close(pointer(hidden).exp().sum(1), torch.ones(5))


@torch.no_grad()
def test_a_transformer_points_by_scaled_products_of_its_output_with_the_source():
    torch.manual_seed(1)
    settings = replace(tiny(), encoder_layers=1, decoder_layers=1, copying=True)
    model = build(settings, target_vocabulary=WORDS).eval()
    source, lengths = Source(torch.tensor([4, 2]), IDS), torch.tensor([3, 3])
    hidden = model.hidden(source, torch.tensor([[2, 4, 5], [2, 6, 8]]), lengths)
    vectors, read = hidden.vectors_ND.view(2, 3, 128), model.encoder(source).vectors_BSD
    for row, length in enumerate((4, 2)):
        queries, keys = model.pointer.queries(vectors[row]), model.pointer.keys(read[row, :length])
        expected = torch.softmax(queries @ keys.t() / 128**0.5, dim=1)
        found = hidden.copying.attention_NS.view(2, 3, 4)[row]
        torch.testing.assert_close(found[:, :length], expected, rtol=0, atol=1e-5)
        assert not found[:, length:].any()


@pytest.mark.parametrize("preset", [gru_tiny, tiny])
def test_both_families_copy(preset):
    torch.manual_seed(1)
    model = build(replace(preset(), copying=True), target_vocabulary=WORDS).eval()
    source = Source(torch.tensor([4, 2]), IDS)
    inputs, lengths = torch.tensor([[2, 4, 5], [2, 6, 0]]), torch.tensor([3, 2])
    hidden = model.hidden(source, inputs, lengths)
    logits = model.logits(hidden)
    torch.testing.assert_close(logits.exp().sum(1), torch.ones(5))
    torch.testing.assert_close(hidden.copying.attention_NS.sum(1), torch.ones(5))
    assert not hidden.copying.attention_NS[3:, 2:].any()
    state, stepped = model.start(source), []
    for tokens in inputs.unbind(1):
        row, state = model.step(tokens, state)
        stepped.append(row)
    stepped = torch.stack(stepped, dim=1)
    torch.testing.assert_close(torch.cat((stepped[0], stepped[1, :2])), logits, rtol=0, atol=1e-5)
    model.train()
    model.logits(model.hidden(source, inputs, lengths)).sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.output.gate.parameters())
