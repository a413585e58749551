"""From settings to outputs: every kind of search through the one way of running it."""

from __future__ import annotations

import itertools
import typing

import pytest

from dragoman.decoding.beam import BeamSettings
from dragoman.decoding.build import DecodingSettings, build, decode
from dragoman.decoding.contrastive import ContrastiveSettings
from dragoman.decoding.diverse import DiverseSettings
from dragoman.decoding.exact import ExactSettings
from dragoman.decoding.exhaustive import ExhaustiveSettings
from dragoman.decoding.filters import FilterSettings
from dragoman.decoding.greedy import GreedySettings
from dragoman.decoding.live import Sentence
from dragoman.decoding.mbr import MbrSettings
from dragoman.decoding.sample import SampleSettings
from dragoman.decoding.search import Arrival, batches
from dragoman.errors import SettingError
from dragoman.settings import Settings, fields
from dragoman.settings import decode as from_document

KINDS = typing.get_args(DecodingSettings)
SETTINGS = [
    GreedySettings(),
    BeamSettings(nbest=2),
    DiverseSettings(nbest=2),
    SampleSettings(nbest=2),
    ContrastiveSettings(),
    MbrSettings(samples=4),
    ExhaustiveSettings(nbest=2),
    ExactSettings(nbest=2),
]


def outputs(tiny, plan, *, length=5, **demands):
    sentences = [Sentence(key=n, max_length=length, seed=n, **demands) for n in range(3)]
    arrivals = batches([Arrival(sentences, tiny.start(*range(3)))])
    return {f.key: f for f in decode(plan, tiny.randomly(2, vocabulary=5), arrivals=arrivals)}


def test_each_kind_is_here():
    assert {type(each) for each in SETTINGS} == set(KINDS)


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: type(s).__name__)
def test_every_kind_runs_with_every_filter(tiny, settings):
    filters = FilterSettings(no_repeat=2, repetition_penalty=1.2)
    plan = build(type(settings)(filters=filters), begin=0, end=1, banned=[(3,)])
    found = outputs(tiny, plan, prefix=(2,), min_length=2, required=(((4,),),))
    assert set(found) == {0, 1, 2}
    for each in found.values():
        assert each.hypotheses
        for hypothesis in each.hypotheses:
            tokens = hypothesis.tokens
            assert tokens[0] == 2
            assert 3 not in tokens
            assert 4 in tokens
            assert len(tokens) > 2
            assert len(set(itertools.pairwise(tokens))) == len(tokens) - 1


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: type(s).__name__)
def test_as_many_outputs_as_were_asked_for(tiny, settings):
    found = outputs(tiny, build(settings, begin=0, end=1))
    wanted = settings.samples if isinstance(settings, MbrSettings) else getattr(settings, "nbest", 1)
    for each in found.values():
        assert len(each.hypotheses) == wanted
        assert each.proven is (True if isinstance(settings, ExactSettings) else None)


def test_giving_up_a_proof_keeps_the_first_search(tiny):
    plan = build(ExactSettings(expansions=1), begin=0, end=1)
    for each in outputs(tiny, plan).values():
        assert each.proven is False
        assert each.hypotheses


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_every_setting_is_explained(kind):
    assert all(each.meaning for each in fields(kind))


def test_settings_come_from_a_document():
    class Run(Settings, frozen=True, kw_only=True):
        decoding: DecodingSettings = BeamSettings()

    run = from_document({"decoding": {"kind": "sample", "top_p": 0.9, "filters": {"no_repeat": 3}}}, Run)
    assert run.decoding == SampleSettings(top_p=0.9, filters=FilterSettings(no_repeat=3))
    with pytest.raises(SettingError, match="top_p"):
        from_document({"decoding": {"kind": "sample", "top_q": 0.9}}, Run)
