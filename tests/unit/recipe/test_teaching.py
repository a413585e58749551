"""What teachers say is kept: all of it, once, whatever stops it; and what nobody should learn is not."""

from __future__ import annotations

import json

import pytest

from dragoman.data.corpus import Mono, TextFiles, build
from dragoman.decoding.filters import FilterSettings, LengthLimits
from dragoman.decoding.greedy import GreedySettings
from dragoman.decoding.sample import SampleSettings
from dragoman.errors import DataError, ModelError, SettingError
from dragoman.measures.sentence import sentence_metric
from dragoman.models.recurrent_lm import RecurrentLMSettings
from dragoman.recipe import teaching as room
from dragoman.recipe.teaching import Teaching, TeachingSettings, describe_teachers, refuse_standard_input
from dragoman.translator import Alternative, Translation, load

SHORT = FilterSettings(lengths=LengthLimits(most=5))
"""Which leaves the outputs for some sources without an end."""
SAMPLES = TeachingSettings(decoding=SampleSettings(seed=3, nbest=4, filters=SHORT))


def pairs(folder):
    files = TextFiles(source=str(folder / "train.src"), target=str(folder / "train.tgt"))
    return build(files)


@pytest.fixture
def make(reverser, digit_files, tmp_path):
    def teaching(name="taught", *, corpus=None, settings=SAMPLES):
        return Teaching(
            teachers=(reverser,),
            corpus=corpus or pairs(digit_files),
            folder=tmp_path / name / "train",
            settings=settings,
        )

    return teaching


def spoken(teaching):
    return [json.loads(line) for line in teaching.pairs.read_text().splitlines()]


def test_every_output_of_every_source_becomes_a_pair_in_order(make, reverser, digit_files):
    taught = make()
    assert taught.done() is None
    assert list(taught.outputs()) == list(range(1, 61))
    sources = (digit_files / "train.src").read_text().split()
    expected, refused = [], 0
    for each in load(reverser).translate(sources, decoding=SAMPLES.decoding):
        outputs = [a for a in (each.best, *each.alternatives) if a.finished and a.text.strip()]
        refused += 4 - len(outputs)
        expected += [{"source": each.source, "target": text} for text in dict.fromkeys(a.text for a in outputs)]
    assert spoken(taught) == expected
    found = taught.done()
    assert (found.sources, found.pairs, found.refused) == (60, len(expected), refused)
    assert 0 < refused < 240
    assert found.silent == 60 - len({each["source"] for each in expected})
    assert list(make().outputs()) == []
    assert not list(taught.folder.parent.glob("*.log"))


@pytest.mark.parametrize("torn", [b"", b'{"source": "12', b'{"source": "12", "outputs": [], "refused": 0}', b"\0\0\n"])
def test_stopped_anywhere_it_goes_on_to_the_same_pairs(make, monkeypatch, torn):
    whole = make("whole")
    list(whole.outputs())
    monkeypatch.setattr(room, "_WINDOW", 8)
    cut = make("cut")
    spoke = cut.outputs()
    for _ in range(20):
        next(spoke)
    spoke.close()
    log = cut.folder.with_name("train.log")
    with log.open("ab") as stream:
        stream.write(torn)
    assert cut.known() == 20
    assert list(make("cut").outputs()) == list(range(21, 61))
    assert cut.pairs.read_bytes() == whole.pairs.read_bytes()


def test_texts_alone_are_sources(make, digit_files):
    alone = make("alone", corpus=build(Mono(file=str(digit_files / "train.src"))))
    list(alone.outputs())
    both = make("both")
    list(both.outputs())
    assert spoken(alone) == spoken(both)


def test_of_several_outputs_the_one_nearest_to_the_target(make, digit_files):
    everything, nearest = (
        make("all"),
        make("nearest", settings=TeachingSettings(decoding=SAMPLES.decoding, nearest="chrf")),
    )
    for each in (everything, nearest):
        list(each.outputs())
    metric = sentence_metric("chrf")
    for pair in pairs(digit_files):
        target = metric.prepare(pair.target)
        said = [e["target"] for e in spoken(everything) if e["source"] == pair.source]
        chosen = [e["target"] for e in spoken(nearest) if e["source"] == pair.source]
        assert len(chosen) == min(1, len(said))
        if said:
            best = max(metric.score(metric.prepare(text), target) for text in said)
            assert metric.score(metric.prepare(chosen[0]), target) == best


def alternative(text, *, finished=True):
    return Alternative(text, -1.0, -1.0, (), finished)


class Fake:
    """Says the same to every source."""

    def __init__(self, *said):
        self.said = said

    def stream(self, texts, **_):
        return (Translation(text, self.said[0], self.said[1:]) for text in texts)


def test_what_nobody_should_learn_is_left_out_and_counted(make, monkeypatch):
    circles = alternative("so it goes on and so it goes on and so it goes on and so it goes on")
    said = (alternative("cut", finished=False), alternative(" "), circles, alternative("yes"), alternative("yes"))
    monkeypatch.setattr(room, "load", lambda *_, **__: Fake(*said))
    taught = make()
    list(taught.outputs())
    assert {each["target"] for each in spoken(taught)} == {"yes"}
    assert (taught.done().pairs, taught.done().refused, taught.done().silent) == (60, 180, 0)
    monkeypatch.setattr(room, "load", lambda *_, **__: Fake(*said[:3]))
    with pytest.raises(DataError, match="none of the outputs for 60 sources can be learned from"):
        list(make("other").outputs())


def test_other_teachers_sources_or_searches_are_refused_half_way_and_after(make, digit_files):
    begun = make()
    next(begun.outputs())
    with pytest.raises(SettingError, match="other teachers, sources or searches"):
        next(make(settings=TeachingSettings(decoding=GreedySettings())).outputs())
    list(make().outputs())
    (digit_files / "train.src").write_text((digit_files / "train.src").read_text().replace("1", "2"))
    with pytest.raises(SettingError, match="other teachers, sources or searches"):
        make().done()


def test_damaged_outputs_are_made_again(make):
    taught = make()
    list(taught.outputs())
    before = taught.pairs.read_bytes()
    taught.pairs.write_bytes(b"")
    assert make().done() is None
    list(make().outputs())
    assert taught.pairs.read_bytes() == before


def test_who_cannot_teach(reverser, monkeypatch):
    known = describe_teachers([reverser])
    lm = RecurrentLMSettings()
    import msgspec

    monkeypatch.setattr(room.bundles, "describe", lambda _: msgspec.structs.replace(known[0], model=lm))
    with pytest.raises(ModelError, match="it reads no source"):
        describe_teachers([reverser])
    monkeypatch.setattr(room.bundles, "describe", lambda _: msgspec.structs.replace(known[0], features=True))
    with pytest.raises(ModelError, match="it reads arrays"):
        describe_teachers([reverser])
    with pytest.raises(SettingError, match="standard input can be read only once"):
        refuse_standard_input(build(Mono(file="-")))
