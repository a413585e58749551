"""Attention against its formula, its two paths against each other, and its masks."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dragoman.models.attention import (
    CrossAttention,
    Heads,
    Keeper,
    Mask,
    Recorder,
    SelfAttention,
    attend,
    counted,
    fused,
    padding_mask,
    plain,
    prefix_mask,
    weights,
    within,
)
from reference import transformer as reference

PRECISION = [(torch.float32, 1e-5), (torch.float64, 1e-10)]


def _array(tensor):
    return tensor.detach().double().numpy()


def _pairs(module, *, blocks):
    """(matrix, bias) of each map, cut out of a joint one."""
    parts = zip(module.weight.split(blocks), module.bias.split(blocks), strict=True)
    return [(_array(matrix), _array(bias)) for matrix, bias in parts]


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISION)
@pytest.mark.parametrize("key_heads", [4, 2, 1])
@pytest.mark.parametrize("causal", [False, True])
def test_self_attention_is_the_formula(dtype, tolerance, key_heads, causal):
    torch.manual_seed(1)
    heads = Heads(4, key_heads, 3, 3**-0.5)
    module = SelfAttention(10, heads=heads).to(dtype)
    x = torch.randn(2, 6, 10, dtype=dtype)
    lengths = torch.tensor([6, 4])
    mask = Mask(causal=True) if causal else padding_mask(lengths, 6, dtype)
    ours = module(x, mask=mask)
    all_weights = _pairs(module.inputs, blocks=list(module.blocks)) + _pairs(module.output, blocks=[10])
    for row in range(2):
        length = int(lengths[row])
        expected = reference.multi_head(
            _array(x[row]),
            _array(x[row]),
            all_weights,
            heads=4,
            key_heads=key_heads,
            scale=3**-0.5,
            allowed=lambda t, s, end=length: s <= t if causal else s < end,
        )
        np.testing.assert_allclose(_array(ours[row])[:length], expected[:length], atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISION)
def test_cross_attention_is_the_formula(dtype, tolerance):
    torch.manual_seed(2)
    module = CrossAttention(8, heads=Heads(4, 2, 2, 0.5), memory_size=5).to(dtype)
    x, memory = torch.randn(1, 3, 8, dtype=dtype), torch.randn(1, 7, 5, dtype=dtype)
    keys, values = module.project(memory)
    ours = module(x, keys, values, mask=padding_mask(torch.tensor([6]), 7, dtype))
    parts = (
        _pairs(module.queries, blocks=[8]) + _pairs(module.memory, blocks=[4, 4]) + _pairs(module.output, blocks=[8])
    )
    expected = reference.multi_head(
        _array(x[0]), _array(memory[0]), parts, heads=4, key_heads=2, scale=0.5, allowed=lambda _, s: s < 6
    )
    np.testing.assert_allclose(_array(ours[0]), expected, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("path", [fused, plain])
@pytest.mark.parametrize("causal", [False, True])
def test_gradients_of_self_attention(path, causal):
    torch.manual_seed(3)
    module = SelfAttention(6, heads=Heads(2, 1, 3, 0.7)).double()
    mask = Mask(causal=True) if causal else padding_mask(torch.tensor([4, 3]), 4, torch.float64)
    x = torch.randn(2, 4, 6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, *_: module(x, mask=mask, attend=path), (x, *module.parameters()))


@pytest.mark.parametrize("path", [fused, plain])
def test_gradients_of_cross_attention(path):
    torch.manual_seed(3)
    module = CrossAttention(4, heads=Heads(4, 2, 2, 0.5), memory_size=3).double()
    mask = padding_mask(torch.tensor([4, 2]), 4, torch.float64)
    x, memory = (torch.randn(2, *shape, dtype=torch.float64, requires_grad=True) for shape in ((3, 4), (4, 3)))

    def across(x, memory, *_):
        return module(x, *module.project(memory), mask=mask, attend=path)

    assert torch.autograd.gradcheck(across, (x, memory, *module.parameters()))


MASKS = {
    "nothing": lambda d: Mask(),
    "causal": lambda d: Mask(causal=True),
    "padding": lambda d: padding_mask(torch.tensor([5, 2, 4]), 5, d),
    "both": lambda d: Mask(padding_mask(torch.tensor([5, 2, 4]), 5, d).bias, causal=True),
    "relative": lambda d: Mask(causal=True).plus(torch.arange(100.0, dtype=d).view(1, 4, 5, 5) / 60),
}


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("groups", [4, 2, 1])
def test_both_paths_agree(name, groups):
    torch.manual_seed(4)
    q, k, v = torch.randn(3, 4, 5, 4), torch.randn(3, groups, 5, 4), torch.randn(3, groups, 5, 4)
    mask = MASKS[name](torch.float32)
    results = [path(q, k, v, mask=mask, scale=0.5) for path in (fused, plain, attend, Recorder(), Keeper())]
    for other in results[1:]:
        torch.testing.assert_close(other, results[0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_near(dtype):
    torch.manual_seed(5)
    q, k, v = torch.randn(3, 3, 2, 5, 4).unbind(0)
    mask = padding_mask(torch.tensor([5, 2, 4]), 5, dtype)
    ours = attend(q.to(dtype), k.to(dtype), v.to(dtype), mask=mask, scale=0.5)
    exact = attend(q, k, v, mask=Mask(mask.bias.float().clamp_min(-1e30)), scale=0.5)
    torch.testing.assert_close(ours.float(), exact, atol=0.03, rtol=0.03)


def test_the_lecture_example_of_scaled_scores():
    # Scores 112 and 96 with d_k = 64: divided 14 and 12, softmax 0.88 and 0.12.
    query = torch.ones(1, 1, 1, 64)
    keys = torch.stack([torch.full((64,), 112 / 64), torch.full((64,), 96 / 64)])[None, None]
    both = weights(query, keys, mask=Mask(), scale=64**-0.5)
    torch.testing.assert_close(both.flatten(), torch.tensor([0.88, 0.12]), atol=0.005, rtol=0)


def test_padding_has_no_weight_and_an_empty_sentence_stays_finite():
    q, k = torch.randn(2, 1, 3, 4), torch.randn(2, 1, 5, 4)
    found = weights(q, k, mask=padding_mask(torch.tensor([3, 0]), 5, torch.float32), scale=1.0)
    assert (found[0, ..., 3:] == 0).all()
    assert torch.isfinite(found).all()


def test_a_batch_without_padding_has_no_mask():
    assert padding_mask(torch.tensor([4, 4]), 4, torch.float32).bias is None


def test_within_and_counted():
    lengths = torch.tensor([2, 0, 3])
    assert within(lengths, 3).tolist() == [[True, True, False], [False] * 3, [True] * 3]
    vectors = torch.arange(9.0).view(3, 3, 1)
    assert counted(vectors, lengths).flatten().tolist() == [0, 1, 6, 7, 8]
    assert counted(vectors, torch.tensor([3, 3, 3])).shape == (9, 1)


@pytest.mark.parametrize("causal", [False, True])
def test_the_prefix_mask_drawn(causal):
    bias = prefix_mask(torch.tensor([2]), prefix_size=3, size=2, causal_prefix=causal, dtype=torch.float32).bias[0, 0]
    drawn = ["".join("x" if value == 0 else "." for value in row) for row in bias.tolist()]
    prefix = ["x....", "xx..."] if causal else ["xx...", "xx..."]
    assert drawn[:2] == prefix
    assert drawn[3:] == ["xx.x.", "xx.xx"]


def test_attention_dropout_only_in_training():
    module = SelfAttention(8, heads=Heads.of(8, 2), dropout=0.5)
    x = torch.randn(2, 5, 8)
    assert not torch.equal(module(x, mask=Mask()), module(x, mask=Mask()))
    module.eval()
    assert torch.equal(module(x, mask=Mask()), module(x, mask=Mask()))
