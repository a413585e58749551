"""What travels between models and the rest."""

from __future__ import annotations

import pytest
import torch

from dragoman.models.attention import AttentionSettings
from dragoman.models.build import build
from dragoman.models.prefix import PrefixPast
from dragoman.models.recurrent_lm import RecurrentLMSettings
from dragoman.models.rnn import RecurrentSettings
from dragoman.models.seq2seq import Copying, Hidden, Source
from dragoman.models.transformer import TransformerSettings
from dragoman.models.transformer_lm import PrefixLMSettings, TransformerLMSettings

HEADS = AttentionSettings(heads=2)
FAMILIES = {
    "transformer": TransformerSettings(size=8, encoder_layers=1, decoder_layers=1, attention=HEADS),
    "recurrent": RecurrentSettings(size=8),
    "transformer_lm": TransformerLMSettings(size=8, layers=1, attention=HEADS),
    "recurrent_lm": RecurrentLMSettings(size=8),
    "prefix_lm": PrefixLMSettings(size=8, layers=1, attention=HEADS),
}


def test_a_source_is_ids_or_features():
    lengths, ids = torch.tensor([2]), torch.tensor([[4, 5]])
    with pytest.raises(AssertionError):
        Source(lengths)
    with pytest.raises(AssertionError):
        Source(lengths, ids, torch.zeros(1, 2, 3))
    assert Source(lengths, ids).rows == 1
    moved = Source(lengths, ids).to("meta")
    assert moved.ids_BS.is_meta
    assert moved.lengths_B.is_meta
    assert Source(lengths, features_BSF=torch.zeros(1, 2, 3)).to("meta").features_BSF.is_meta


def test_rows_of_hidden_take_their_copying_along():
    copying = Copying(torch.rand(3, 2), torch.tensor([[1, 2], [3, 4]]), torch.tensor([0, 1, 1]))
    hidden = Hidden(torch.randn(3, 4), copying)
    for index in (slice(1, 3), torch.tensor([2, 0])):
        rows = hidden.rows(index)
        assert torch.equal(rows.vectors_ND, hidden.vectors_ND[index])
        assert torch.equal(rows.copying.attention_NS, copying.attention_NS[index])
        assert torch.equal(rows.copying.sentence_N, copying.sentence_N[index])
        assert rows.copying.source_ids_MS is copying.source_ids_MS


@torch.no_grad()
@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_stands_behind_the_same_seam(name):
    model = build(FAMILIES[name], target_vocabulary=11).eval()
    source = (
        None if name.endswith("lm") and name != "prefix_lm" else Source(torch.tensor([3, 2]), torch.ones(2, 3).long())
    )
    inputs, lengths = torch.tensor([[2, 4, 5], [2, 6, 0]]), torch.tensor([3, 2])
    logits = model.logits(model.hidden(source, inputs, lengths))
    assert logits.shape == (5, 11)
    first, state = model.step(inputs[:, 0], model.start(source, rows=2))
    torch.testing.assert_close(first, logits[[0, 3]], atol=1e-5, rtol=1e-5)
    twice = state.select(torch.tensor([1, 1])).join(state)
    second, _ = model.step(torch.tensor([6, 6, 4, 6]), twice)
    torch.testing.assert_close(second, logits[[4, 4, 1, 4]], atol=1e-5, rtol=1e-5)
    assert model.attention_weights(source, inputs, lengths) is not None


@torch.no_grad()
def test_a_prefix_is_kept_once_for_each_sentence():
    model = build(FAMILIES["prefix_lm"], target_vocabulary=11).eval()
    state = model.start(Source(torch.tensor([3, 2]), torch.ones(2, 3).long()))
    wide = state.select(torch.tensor([0, 0, 0, 1]))
    assert isinstance(wide.past, PrefixPast)
    assert wide.past.prefix.layers is state.past.prefix.layers
