"""Whose fault wrong outputs are: verdicts agree with what exact search says."""

from __future__ import annotations

import pytest

from dragoman.decoding.beam import BeamSettings
from dragoman.decoding.exact import ExactSettings
from dragoman.decoding.greedy import GreedySettings
from dragoman.decoding.sample import SampleSettings
from dragoman.errors import SettingError
from dragoman.evaluation.search_errors import counted, judge


@pytest.mark.parametrize("search", [GreedySettings(), BeamSettings(beam=2, alpha=0.0)])
def test_verdicts_follow_from_the_two_searches(search, model, sources):
    found = [t.text for t in model.translate(sources, decoding=search)]
    best = model.translate(sources, decoding=ExactSettings())
    references = [[text] if n % 2 else ["x"] for n, text in enumerate(found)]
    judged = list(judge(model, sources, references, search=search))
    for n, each in enumerate(judged):
        missed = best[n].score > each.score + 1e-4
        assert each.verdict == ("search error" if missed else "optimal" if n % 2 else "model error")
        assert (each.found, each.best) == (found[n], best[n].text)
        assert each.prefers_nothing == (best[n].text == "")
    counts = counted(judged)
    assert counts.optimal + counts.search_errors + counts.model_errors + counts.undecided == len(sources)


def test_both_sorts_of_error_occur(model, sources):
    verdicts = [each.verdict for each in judge(model, sources, [["x"]] * len(sources), search=GreedySettings())]
    best = [t.text for t in model.translate(sources, decoding=ExactSettings())]
    right = list(judge(model, sources, [[text] for text in best], search=ExactSettings()))
    assert "search error" in verdicts
    assert {each.verdict for each in right} == {"optimal"}
    assert {each.verdict for each in judge(model, sources, [["x"]] * len(sources), search=ExactSettings())} == {
        "model error"
    }


def test_without_a_proof_there_is_no_verdict_on_the_model(model, sources):
    judged = list(judge(model, sources, [["x"]] * len(sources), search=GreedySettings(), expansions=1))
    assert {each.verdict for each in judged} <= {"undecided", "search error"}


def test_exact_outputs_have_no_search_errors(model, sources):
    judged = judge(model, sources, [["x"]] * len(sources), search=ExactSettings())
    assert not counted(judged).search_errors


def test_samples_are_not_judged(model):
    with pytest.raises(SettingError, match="sample"):
        list(judge(model, ["the"], [["the"]], search=SampleSettings()))
