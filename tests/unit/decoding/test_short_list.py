"""Short-lists: every search finds what it would find if all other words were impossible."""

from __future__ import annotations

import random

import pytest
import torch

from dragoman.decoding.beam import BeamSettings
from dragoman.decoding.build import build, decode
from dragoman.decoding.contrastive import ContrastiveSettings
from dragoman.decoding.diverse import DiverseSettings
from dragoman.decoding.exact import ExactSettings
from dragoman.decoding.exhaustive import ExhaustiveSettings
from dragoman.decoding.filters import FilterSettings
from dragoman.decoding.greedy import GreedySettings
from dragoman.decoding.live import Sentence
from dragoman.decoding.mbr import MbrSettings
from dragoman.decoding.sample import SampleSettings
from dragoman.decoding.search import Arrival
from dragoman.decoding.short_list import Allowed, short_listed

BEGIN, END, WORDS = 0, 1, 9
SEARCHES = {
    "greedy": GreedySettings(),
    "beam": BeamSettings(beam=3, nbest=2),
    "coverage": BeamSettings(beam=2, coverage=0.3),
    "diverse": DiverseSettings(beam=4, groups=2, nbest=2),
    "sample": SampleSettings(nbest=3, top_p=0.9, seed=5),
    "typical": SampleSettings(nbest=2, typical=0.8),
    "contrastive": ContrastiveSettings(),
    "mbr": MbrSettings(samples=4),
    "exact": ExactSettings(nbest=2),
    "exhaustive": ExhaustiveSettings(nbest=3),
}
FILTERS = {
    "free": (FilterSettings(), {}),
    "filters": (FilterSettings(no_repeat=2, repetition_penalty=1.3), {}),
    "demands": (FilterSettings(), {"prefix": (5,), "required": (((6, 7), (8,)),), "min_length": 2}),
}


def _list(number, demands):
    words = {END, *random.Random(number).sample(range(2, WORDS), 3), *demands.get("prefix", ())}
    words |= {token for phrases in demands.get("required", ()) for phrase in phrases for token in phrase}
    return torch.tensor(sorted(words))


def _outcomes(step, settings, state_of, demands, *, places):
    waiting = [Sentence(number, max_length=5, seed=number, **demands) for number in range(5)]

    def arrivals(room):
        now, waiting[:] = waiting[:room], waiting[room:]
        return Arrival(now, state_of([each.key for each in now])) if now else None

    plan = build(settings, begin=BEGIN, end=END, banned=[(4,)])
    return sorted(decode(plan, step, arrivals=arrivals, places=places), key=lambda found: found.key)


@pytest.mark.parametrize("places", [1, 3])
@pytest.mark.parametrize("filters", FILTERS)
@pytest.mark.parametrize("name", SEARCHES)
def test_what_is_not_on_the_list_is_impossible_and_nothing_else_changes(tiny, name, filters, places):
    chosen, demands = FILTERS[filters]
    settings = type(SEARCHES[name])(
        **{field: getattr(SEARCHES[name], field) for field in SEARCHES[name].__struct_fields__} | {"filters": chosen}
    )
    model = tiny.randomly(3, vocabulary=WORDS)
    lists = [_list(number, demands) for number in range(5)]

    def masked(sentence, prefix):
        row = model.row(sentence, prefix)
        return torch.full_like(row, -torch.inf).index_copy(0, lists[sentence], row[lists[sentence]])

    expected = _outcomes(tiny.table(masked), settings, lambda keys: tiny.start(*keys), demands, places=places)
    step = short_listed(model)
    found = _outcomes(
        step, settings, lambda keys: step.start(tiny.start(*keys), [lists[key] for key in keys]), demands, places=places
    )
    tiny.same(found, expected)
    assert any(each.hypotheses for each in found)


def test_lists_of_sentences_without_rows_are_forgotten():
    lists = [torch.tensor([1, number]) for number in (2, 3, 4, 5)]
    allowed = Allowed.of(lists, torch.arange(4))
    assert allowed.ids_U.tolist() == [1, 2, 3, 4, 5]
    assert allowed.select(torch.tensor([0, 0, 2, 3])).ids_U.tolist() == [1, 2, 3, 4, 5]
    few = allowed.select(torch.tensor([1, 1, 3]))
    assert (few.ids_U.tolist(), few.sentence_R.tolist()) == ([1, 3, 5], [0, 0, 1])
    both = few.select(torch.tensor([2])).join(Allowed.of([torch.tensor([1, 9])], torch.tensor([0, 0])))
    assert (both.ids_U.tolist(), both.sentence_R.tolist()) == ([1, 5, 9], [0, 1, 1])
    scores = both.scores(torch.zeros(3, 3))
    assert scores.log_probs().exp().tolist() == [[0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.5, 0.0, 0.5]]
