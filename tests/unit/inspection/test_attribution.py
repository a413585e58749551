"""Attribution against finite differences and sums that must hold; heads against weights set to zero; what if."""

from __future__ import annotations

import copy
import json

import pytest
import torch
from click.testing import CliRunner

from dragoman import bundle as bundles
from dragoman.cli import main
from dragoman.errors import DataError, ModelError
from dragoman.inspection.attribution import ablate, attribute, what_if
from dragoman.inspection.sources import source_vectors, target_log_probs, with_vectors
from dragoman.inspection.views import attribution as views
from dragoman.models.attention import CrossAttention
from dragoman.models.rnn import RecurrentSettings
from dragoman.text.vocabulary import EOS, UNK
from dragoman.translator import Translator
from reference.bundles import bundle

TRANSFORMER = bundle()
RECURRENT = bundle(RecurrentSettings(size=16))
PAIR = ("I see a cat.", "Je vois.")


def translator(one):
    return Translator(one, device=torch.device("cpu"))


def read(model):
    reader = model.reader
    return reader.source([reader.read(PAIR[0])]), [*reader.bundle.tokenizers.target.encode(PAIR[1]), EOS]


@pytest.mark.parametrize("one", [TRANSFORMER, RECURRENT], ids=["transformer", "recurrent"])
def test_gradient_times_input_is_the_slope_of_scaling_a_token(one):
    model = translator(one)
    found = attribute(model, *PAIR, method="gradient")
    source, labels = read(model)
    vectors = source_vectors(one.model, source)
    for place in range(len(found.source)):
        values = []
        for scale in (1.001, 0.999):
            moved = vectors.clone()
            moved[0, place] *= scale
            with with_vectors(one.model, lambda _, moved=moved: moved), torch.no_grad():
                values.append(target_log_probs(one.model, source, labels)[0])
        slopes = ((values[0] - values[1]) / 0.002).tolist()
        assert [row[place] for row in found.weights] == pytest.approx(slopes, rel=0.05, abs=0.02)


def test_integrated_gradients_add_up():
    coarse = attribute(translator(RECURRENT), *PAIR, steps=2)
    fine = attribute(translator(RECURRENT), *PAIR, steps=48)
    assert fine.gap < 0.05
    assert fine.gap < coarse.gap
    for row, full, empty in zip(fine.weights, fine.log_probs, fine.baseline, strict=True):
        assert sum(row) == pytest.approx(full - empty, abs=fine.gap + 1e-6)


def test_occlusion_is_what_is_lost_when_a_token_is_unknown():
    model = translator(TRANSFORMER)
    found = attribute(model, *PAIR, method="occlusion")
    source, labels = read(model)
    ids = source.ids_BS[0].tolist()
    with torch.no_grad():
        full = target_log_probs(TRANSFORMER.model, source, labels)[0]
        for place in range(len(ids)):
            other = model.reader.source([[*ids[:place], UNK, *ids[place + 1 :]]])
            lost = (full - target_log_probs(TRANSFORMER.model, other, labels)[0]).tolist()
            assert [row[place] for row in found.weights] == pytest.approx(lost, abs=1e-4)


def test_a_head_is_silenced_as_if_its_output_weights_were_zero():
    model = translator(TRANSFORMER)
    found = ablate(model, *PAIR)
    assert [(h.kind, h.layer, h.head) for h in found.heads if h.kind == "cross"] == [
        ("cross", layer, head) for layer in (1, 2) for head in (1, 2)
    ]
    assert len(found.heads) == 12
    source, labels = read(model)
    for layer in (1, 2):
        silenced = copy.deepcopy(TRANSFORMER.model)
        module = [m for m in silenced.modules() if isinstance(m, CrossAttention)][layer - 1]
        with torch.no_grad():
            module.output.weight[:, module.heads.size :] = 0
            wanted = float(target_log_probs(silenced, source, labels).sum())
        (head,) = (h for h in found.heads if (h.kind, h.layer, h.head) == ("cross", layer, 2))
        assert head.log_prob == pytest.approx(wanted, abs=1e-4)
    assert ablate(model, *PAIR) == found  # nothing stays silenced
    with pytest.raises(ModelError, match="no heads"):
        ablate(translator(RECURRENT), *PAIR)


def test_what_if():
    model = translator(RECURRENT)
    found = what_if(model, PAIR[0], changes=[("cat.", "dog.")], prefixes=["Je"])
    assert [(each.source, each.prefix) for each in found] == [(PAIR[0], ""), ("I see a dog.", ""), (PAIR[0], "Je")]
    assert found[1].output == model.translate("I see a dog.").text
    assert found[2].output == model.translate(PAIR[0], prefixes=["Je"]).text
    (score,) = model.score(["I see a dog."], [found[0].output])
    assert found[1].was == pytest.approx(score.log_prob, abs=1e-4)
    with pytest.raises(DataError, match="is no word of the source"):
        what_if(model, PAIR[0], changes=[("dog", "cat")])


def test_what_counts_against_is_ringed():
    found = attribute(translator(TRANSFORMER), *PAIR, method="occlusion")
    page = views.attribution(found).page()
    strongest = max(abs(v) for row in found.weights for v in row)
    against = sum(v < -0.1 * strongest for row in found.weights for v in row)
    assert page.count('class="link"') == against
    assert f"{found.weights[0][0]:+.3f}" in page


def test_the_verbs(tmp_path):
    bundles.save(TRANSFORMER, tmp_path / "model")

    def run(*arguments):
        done = CliRunner().invoke(
            main.program, ["inspect", str(tmp_path / "model"), *arguments, "--threads", "1"], catch_exceptions=False
        )
        assert done.exit_code == 0, done.stderr
        return done.stdout

    assert json.loads(run("attribution", *PAIR, "--steps", "2", "--json"))["method"] == "integrated"
    assert "cross 2" in run("heads", *PAIR)
    assert "I see a dog." in run("whatif", PAIR[0], "--change", "cat.=dog.", "--prefix", "Je")
