"""Gradients, quality by length, cost and repetition: the numbers against independent computation, and the pages."""

from __future__ import annotations

import json
import math

import msgspec
import pytest
import torch
from click.testing import CliRunner

from dragoman import bundle as bundles
from dragoman.cli import main
from dragoman.errors import DataError, ModelError
from dragoman.inspection.cost import costs, fresh_models
from dragoman.inspection.gradients import compare_cells, gradients, reach
from dragoman.inspection.length import by_length
from dragoman.inspection.repetition import find_loop, repetition
from dragoman.inspection.sources import source_vectors, target_log_probs, with_vectors
from dragoman.inspection.views import curves
from dragoman.measures.metrics import measure
from dragoman.models.positions import LearnedSettings
from dragoman.models.rnn import RecurrentSettings
from dragoman.models.seq2seq import Source
from dragoman.models.transformer_lm import TransformerLMSettings
from dragoman.text.build import TextSettings
from dragoman.text.characters import CharacterSettings
from dragoman.translator import Translator
from reference.browser import needs_chromium, opened
from reference.bundles import PLAIN, bundle, phrases

TRANSFORMER = bundle()
RECURRENT = bundle(RecurrentSettings(size=16))
CHARACTERS = TextSettings(source=CharacterSettings())


def translator(one):
    return Translator(one, device=torch.device("cpu"))


@pytest.mark.parametrize("one", [TRANSFORMER, RECURRENT], ids=["transformer", "recurrent"])
def test_gradients_are_those_of_finite_differences(one):
    model = one.model.double()
    try:
        source = Source(torch.tensor([5]), torch.tensor([[10, 20, 30, 40, 3]]))
        labels = [50, 60, 3]
        found = reach(model, source, labels)
        vectors = source_vectors(model, source)
        step = 1e-3 if one is TRANSFORMER else 1e-4
        for place in range(5):
            total = 0.0
            for number in range(vectors.shape[2]):
                values = []
                for sign in (1, -1):
                    moved = vectors.clone()
                    moved[0, place, number] += sign * step
                    with with_vectors(model, lambda _, moved=moved: moved), torch.no_grad():
                        hidden = model.hidden(source, torch.tensor([[2, 50, 60]]), torch.tensor([3]))
                        log_probs = model.logits(hidden).double().log_softmax(-1)
                        values.append(sum(float(log_probs[n, label]) for n, label in enumerate(labels)))
                total += ((values[0] - values[1]) / (2 * step)) ** 2
            assert float(found[place]) == pytest.approx(math.sqrt(total), rel=2e-2)
    finally:
        model.float()


def test_log_probs_are_those_of_scores():
    model = translator(TRANSFORMER)
    (wanted,) = model.score([phrases()[0].english], [phrases()[0].french])
    reader = model.reader
    labels = [*reader.bundle.tokenizers.target.encode(phrases()[0].french), 3]
    with torch.no_grad():
        found = target_log_probs(reader.bundle.model, reader.source([reader.read(phrases()[0].english)]), labels)
    assert found[0].tolist() == pytest.approx([t.log_prob for t in wanted.tokens], abs=1e-4)


def test_what_vanishes_and_the_way_around():
    found = compare_cells(length=30, size=32, sentences=4)
    share = {each.name: each.ratio for each in found.reaches}
    assert len(share) == 6
    for name in ("RNN", "GRU", "LSTM"):
        assert share[name] < 0.05
        assert share[f"{name} with attention"] > 3 * share[name]
    assert share["LSTM"] > share["RNN"]
    assert compare_cells(length=30, size=32, sentences=4) == found  # a seed, and nobody else's random numbers moved


def test_gradients_of_trained_models_have_a_size_for_every_token():
    found = gradients([("one", translator(RECURRENT)), ("two", translator(TRANSFORMER))], "I see a cat.", "Je vois.")
    assert found.names[-1] == "</s>"
    assert all(len(each.sizes) == len(found.names) for each in found.reaches)
    language_model = bundle(TransformerLMSettings(size=16, layers=1))
    for output in (None, "Je vois."):
        with pytest.raises(ModelError, match="no source"):
            gradients([("lm", translator(language_model))], "I see a cat.", output)
    with pytest.raises(ModelError, match="no source"):
        reach(language_model.model, None, [3])
    with pytest.raises(ModelError, match="nothing to read"):
        gradients([("one", translator(RECURRENT))], "", "Je vois.")


def test_gradients_of_models_that_cut_otherwise_cannot_be_compared():
    spelling = translator(bundle(RecurrentSettings(size=16), text=CHARACTERS))
    with pytest.raises(DataError, match=r"spelling cuts the source into .*, and one into "):
        gradients([("one", translator(RECURRENT)), ("spelling", spelling)], "I see a cat.", "Je vois.")


def test_quality_by_length_is_the_metric_of_each_part():
    model = translator(RECURRENT)
    sources, references = [p.english for p in phrases()[:14]], [p.french for p in phrases()[:14]]
    found = by_length([("gru", model)], sources, references, metric="chrf", edges=(1, 5, 8))
    outputs = [t.text for t in model.translate(sources)]
    for group, (low, high) in zip(found.groups, ((1, 4), (5, 7), (8, 99)), strict=True):
        here = [i for i, s in enumerate(sources) if low <= len(s.split()) <= high]
        place = found.groups.index(group)
        assert found.counts[place] == len(here)
        wanted = measure("chrf", [outputs[i] for i in here], [references[i] for i in here]).value
        assert found.models[0].values[place] == wanted
    assert found.groups == ("1-4", "5-7", "8 or more")
    with pytest.raises(DataError, match="1 sources and 0 references"):
        by_length([("gru", model)], ["a"], [])


def test_what_attention_keeps_when_written_out_grows_with_the_square():
    transformer, recurrent = costs(fresh_models(size=16, heads=2), lengths=(32, 64, 128), repeats=1)
    for cost in transformer.costs:
        assert cost.weights == 2 * cost.length**2
        assert cost.written_out >= 4 * cost.weights  # one float32 for each weight at least
    kept = [cost.kept for cost in recurrent.costs]
    assert kept[2] - kept[1] == pytest.approx(2 * (kept[1] - kept[0]), rel=0.05)  # linear
    first, second, third = (cost.written_out for cost in transformer.costs)
    assert third - second > 2.5 * (second - first)
    assert all(cost.written_out == 0 for cost in recurrent.costs)
    assert all(cost.seconds > 0 for cost in transformer.costs)


def test_costs_are_those_of_sources_that_the_models_know():
    spelling = bundle(RecurrentSettings(size=16), text=CHARACTERS)
    assert len(spelling.tokenizers.source.vocabulary) < 100  # fewer pieces than fresh models have
    short = bundle(msgspec.structs.replace(PLAIN, positions=LearnedSettings(longest=24)))
    for one in costs([("a", translator(spelling)), ("b", translator(short))], lengths=(16, 32, 64), repeats=1):
        assert [cost.length for cost in one.costs] == [16, 22]  # the end and a tag have places, too


def test_a_phrase_said_again():
    model = translator(TRANSFORMER)
    found = repetition(model, "un chat", "I see a cat.", times=3)
    assert [each.before for each in found.said] == [0, 1, 2]
    scores = model.score(["I see a cat."] * 3, ["un chat", "un chat un chat", "un chat un chat un chat"])
    sums = [sum(t.log_prob for t in score.tokens[:-1]) for score in scores]
    wanted = [sums[0], sums[1] - sums[0], sums[2] - sums[1]]
    assert [each.log_prob for each in found.said] == pytest.approx(wanted, abs=1e-4)
    count = len(found.tokens)
    assert found.said[0].per_token == pytest.approx(math.exp(sums[0] / count), rel=1e-4)
    with pytest.raises(DataError, match="said again"):
        repetition(model, " ", "I see a cat.")


def test_loops_are_found():
    assert find_loop("he said that he said that he said that and left").phrase == "he said that"
    assert find_loop("no no no no").times == 4
    assert find_loop("a b a b") is None
    assert find_loop("x a b a b a b").begin == 1


@needs_chromium
def test_pages_open_without_errors_and_ask_for_nothing(tmp_path):
    views = [
        curves.gradients(compare_cells(length=6, size=8, sentences=1)),
        curves.costs(costs(fresh_models(size=16, heads=2), lengths=(16, 32), repeats=1)),
        curves.repetition(repetition(translator(TRANSFORMER), "un chat", "I see a cat.", times=3)),
    ]
    frames = ""
    for number, view in enumerate(views):
        (tmp_path / f"{number}.html").write_text(view.page(), encoding="utf-8")
        frames += f"<iframe src='{number}.html'></iframe>"
    seen = opened(frames, tmp_path)
    assert seen.console == ()
    assert seen.requests == ()


def test_the_verbs(tmp_path):
    bundles.save(RECURRENT, tmp_path / "model")
    for side in ("english", "french"):
        (tmp_path / side).write_text("".join(f"{getattr(p, side)}\n" for p in phrases()[:4]), encoding="utf-8")

    def run(*arguments):
        done = CliRunner().invoke(main.program, ["inspect", *map(str, arguments)], catch_exceptions=False)
        assert done.exit_code == 0, done.stderr
        return done.stdout

    model = tmp_path / "model"
    assert "LSTM with attention" in run("-", "gradients", "--length", "5", "--size", "8")
    assert json.loads(run(model, "gradients", "I see.", "Je vois.", "--json", "--threads", "1"))["kind"] == "trained"
    assert "MB" in run("-", "cost", "--longest", "16", "--threads", "1")
    assert "per token" in run(model, "repetition", "un chat", "--src", "I see.", "--times", "3", "--threads", "1")
    many = [word for _ in range(6) for word in ("--beside", str(model))]
    for looked in (["gradients", "I see.", *many], ["cost", *many[:6]]):
        done = CliRunner().invoke(main.program, ["inspect", str(model), *looked])
        assert done.exit_code == 2
        assert "too many for one chart" in done.stderr
    told = run(model, "length", "--src", tmp_path / "english", "--ref", tmp_path / "french", "--threads", "1")
    assert "source words" in told
