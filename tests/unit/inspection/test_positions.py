"""Position vectors against the formula in plain Python, and against a model's own table."""

from __future__ import annotations

import math

import msgspec
import pytest
import torch
from click.testing import CliRunner

from dragoman.cli import main
from dragoman.errors import ModelError, SettingError
from dragoman.inspection.positions import positions, sinusoidal
from dragoman.inspection.views.positions import view
from dragoman.models.positions import LearnedSettings
from dragoman.models.rnn import RecurrentSettings
from dragoman.translator import Translator
from reference.bundles import PLAIN, bundle


def test_the_formula():
    found = sinusoidal(5, 4)
    for place, row in enumerate(found.vectors):
        wanted = [f(place / 10_000 ** (2 * i / 4)) for i in range(2) for f in (math.sin, math.cos)]
        assert row == pytest.approx(wanted, abs=1e-9)
    for a, first in enumerate(found.vectors):
        for b, second in enumerate(found.vectors):
            assert found.products[a][b] == pytest.approx(sum(x * y for x, y in zip(first, second, strict=True)))


def test_where_the_lecture_slipped():
    """Row 1 ends with 0.0100 and not 0.0017; the diagonal is 2, its maximum; row 0 is not monotone."""
    found = sinusoidal(5, 4)
    assert [round(v, 4) for v in found.vectors[1]] == [0.8415, 0.5403, 0.01, 1.0]
    assert [round(v, 2) for v in found.products[0]] == [2.0, 1.54, 0.58, 0.01, 0.35]
    assert all(row[n] == pytest.approx(2) and max(row) == pytest.approx(2) for n, row in enumerate(found.products))
    assert "do not only fall" in view(found).lines[-1]


def test_a_table_that_was_learned():
    settings = msgspec.structs.replace(PLAIN, positions=LearnedSettings(longest=12))
    one = bundle(settings)
    found = positions(Translator(one, device=torch.device("cpu")), count=40)
    assert found.kind == "learned"
    assert len(found.vectors) == 12
    table = next(p for name, p in one.model.named_parameters() if "positions" in name)
    assert found.vectors[3] == pytest.approx(table[3].tolist(), abs=1e-6)


def test_mistakes_have_a_remedy():
    with pytest.raises(ModelError, match="adds no vectors"):
        positions(Translator(bundle(RecurrentSettings(size=16)), device=torch.device("cpu")))
    with pytest.raises(SettingError, match="even size"):
        sinusoidal(5, 3)


def test_the_verb_needs_no_model(tmp_path):
    arguments = ["inspect", "-", "positions", "--count", "5", "--size", "4"]
    done = CliRunner().invoke(main.program, arguments, catch_exceptions=False)
    assert "   2.00    1.54    0.58    0.01    0.35" in done.stdout
    page = tmp_path / "positions.html"
    CliRunner().invoke(main.program, [*arguments, "--out", str(page)], catch_exceptions=False)
    assert "0 → 3: 1.0000" in page.read_text(encoding="utf-8")
