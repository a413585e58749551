"""Maps of names: what is given away and taken again is the same, and what does not fit is refused before it is read."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec
import pytest
import torch

from dragoman import bundle as bundles
from dragoman.errors import ModelError
from dragoman.interop.bart import bart_names
from dragoman.interop.numbering import Numbering
from dragoman.interop.t5 import t5_names
from dragoman.interop.weights import give, take
from dragoman.models import presets
from dragoman.models.attention import AttentionSettings
from dragoman.models.build import build

NUMBERING = Numbering(pad=1, unknown=3, begin=2, end=2, size=11)
FAMILIES = {
    "marian": (presets.marian, bart_names()),
    "bart": (presets.bart, bart_names()),
    "nllb": (presets.nllb, bart_names()),
    "t5": (presets.t5, t5_names(gated=False, tied=True)),
    "t5_v1_1": (presets.t5_v1_1, t5_names(gated=True, tied=False)),
}


@dataclass
class Foreign:
    tensors: dict
    place: str = "somewhere"
    reads: list = field(default_factory=list)

    def shapes(self):
        return {name: tuple(value.shape) for name, value in self.tensors.items()}

    def read(self, name):
        self.reads.append(name)
        return self.tensors[name]


@pytest.fixture(params=FAMILIES)
def family(request):
    """The weights of a small model of ours, the map of names, and the shapes that theirs have."""
    preset, names = FAMILIES[request.param]
    settings = preset()
    heads = msgspec.structs.replace(settings.attention, heads=2, head_size=4 if "t5" in request.param else None)
    assert isinstance(heads, AttentionSettings)
    settings = msgspec.structs.replace(settings, size=8, attention=heads, encoder_layers=1, decoder_layers=2)
    model = build(settings, target_vocabulary=NUMBERING.size + 1)
    weights = {name: torch.randn(value.shape) for name, value in bundles.weights(model).items()}
    shapes = {}
    for ours, value in weights.items():
        theirs = () if ours in names.tables else names.theirs(ours)
        shapes |= {name: (value.shape[0] // len(theirs), *value.shape[1:]) for name in theirs}
    return weights, names, shapes


def _back(_name, table):
    return NUMBERING.rows_back(table)


def test_given_and_taken_again(family):
    weights, names, shapes = family
    given = give(names, weights, shapes=shapes, rows=_back)
    assert all(tuple(given[name].shape) == shape for name, shape in shapes.items())
    wanted = {name: tuple(value.shape) for name, value in weights.items()}
    taken = take(names, Foreign(given), shapes=wanted, rows=lambda _name, table: NUMBERING.rows(table))
    assert taken.keys() == weights.keys()
    for name, value in taken.items():
        if name in names.tables:  # the row of the begin is a copy of theirs
            assert torch.equal(value[2], value[3])
            kept = [0, 1, *range(3, 12)]
            torch.testing.assert_close(value[kept], weights[name][kept], rtol=0, atol=0)
            continue
        torch.testing.assert_close(value, weights[name], rtol=0, atol=0)


@pytest.mark.parametrize("fault", ["missing", "strange", "wide", "long"])
def test_what_does_not_fit_is_refused_before_anything_is_read(family, fault):
    weights, names, shapes = family
    given = give(names, weights, shapes=shapes, rows=_back)
    name = next(n for n in given if n.endswith((".fc1.weight", ".wo.weight")))
    match fault:
        case "missing":
            del given[name]
        case "strange":
            given["model.encoder.layers.0.gate.weight"] = torch.zeros(1)
        case "wide":
            given[name] = torch.zeros(given[name].shape[0], 5)
        case "long":
            given[name] = torch.zeros(10**3, given[name].shape[1])
    foreign = Foreign(given)
    with pytest.raises(ModelError, match="somewhere"):
        take(names, foreign, shapes={n: tuple(v.shape) for n, v in weights.items()}, rows=lambda _name, table: table)
    assert not foreign.reads
