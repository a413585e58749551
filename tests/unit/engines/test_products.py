import pytest
import torch

from dragoman.engines.products import Rows, product, quantized

torch.set_num_threads(1)


@pytest.fixture
def parts():
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(*shape, generator=generator) for shape in ((9, 40), (24, 40), (24,))]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("precision", "error"), [("float32", 1e-6), ("bfloat16", 2e-2), ("int8", 3e-2)])
def test_a_product_is_the_linear_map(parts, precision, error, bias):
    x, weight, bias_V = parts
    expected = torch.nn.functional.linear(x.double(), weight.double(), bias_V.double() if bias else None)
    found = product(weight, bias_V if bias else None, precision=precision)(x)
    assert found.dtype is torch.float32
    assert ((found - expected).abs().max() / expected.abs().max()).item() < error


@pytest.mark.parametrize("rows", [1, 3, 70])
@pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8"])
def test_large_weights_are_packed_and_give_the_same(precision, rows):
    generator = torch.Generator().manual_seed(2)
    x, weight = torch.randn(rows, 512, generator=generator), torch.randn(1100, 512, generator=generator)
    expected = x.double() @ weight.double().t()
    found = product(weight, None, precision=precision)(x)
    assert ((found - expected).abs().max() / expected.abs().max()).item() < 2e-2


@pytest.mark.parametrize("shape", [(24, 40), (1100, 512)])
def test_in_int8_a_row_does_not_depend_on_those_beside_it(shape):
    generator = torch.Generator().manual_seed(3)
    x, weight = torch.randn(17, shape[1], generator=generator), torch.randn(*shape, generator=generator)
    x[3] *= 1000
    multiply = product(weight, torch.ones(shape[0]), precision="int8")
    alone = torch.cat([multiply(x[i : i + 1]) for i in range(17)])
    assert torch.equal(multiply(x), alone)


@pytest.mark.parametrize("shape", [(24, 40), (1100, 512)])
def test_in_int8_the_product_is_exact_on_whole_numbers(shape):
    generator = torch.Generator().manual_seed(4)
    x = torch.randint(-126, 127, (5, shape[1]), generator=generator).float()
    weight = torch.randint(-126, 127, shape, generator=generator).float()
    x[:, 0], weight[:, 0] = 127, 127
    found = product(weight, None, precision="int8")(x)
    assert torch.allclose(found.double(), x.double() @ weight.double().t(), rtol=1e-5)


def test_rows_of_zeros_stay_zeros():
    whole, _ = quantized(torch.zeros(2, 8))
    assert not whole.any()
    assert not product(torch.ones(4, 8), None, precision="int8")(torch.zeros(2, 8)).any()


def test_rows_use_the_whole_range():
    whole, steps = quantized(torch.tensor([[0.5, -2.0, 1.0], [3e-3, 1e-3, 0.0]]))
    assert whole.tolist() == [[32.0, -127.0, 64.0], [127.0, 42.0, 0.0]]
    assert torch.allclose(steps[:, 0], torch.tensor([2 / 127, 3e-3 / 127]))


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8"])
@pytest.mark.parametrize("bias", [True, False])
def test_some_rows_give_the_same_columns(precision, bias):
    generator = torch.Generator().manual_seed(5)
    x, weight = torch.randn(4, 512, generator=generator), torch.randn(1100, 512, generator=generator)
    rows = Rows(weight, torch.randn(1100, generator=generator) if bias else None, precision=precision)
    chosen = torch.tensor([0, 7, 8, 500, 1099])
    expected = rows.product()(x)[:, chosen]
    assert torch.allclose(rows.product(chosen)(x), expected, rtol=1e-5, atol=0.2 if precision == "bfloat16" else 1e-3)
