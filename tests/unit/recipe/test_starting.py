"""Going on from a trained model: what it starts with, what stays, what grows, and what is refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest
import torch

from dragoman import bundle as bundles
from dragoman.data.corpus import DataSettings, Mono, TextFiles
from dragoman.data.preparation import StoreSettings
from dragoman.errors import ModelError, SettingError
from dragoman.models.adapters import AdapterSettings
from dragoman.models.presets import tiny
from dragoman.recipe.run import run
from dragoman.recipe.schema import Recipe, StartSettings
from dragoman.text.build import TextSettings
from dragoman.text.characters import CharacterSettings
from dragoman.text.subword import BpeSettings
from dragoman.training.average import NoAverage, Recent
from dragoman.training.build import TrainingSettings
from dragoman.training.events import Started, Validated
from dragoman.training.schedule import Constant
from dragoman.training.validation import EvaluationSettings
from dragoman.translator import Request, load

MODEL = msgspec.structs.replace(tiny(), size=16, encoder_layers=1, decoder_layers=1)
TRAINING = TrainingSettings(
    steps=4,
    threads=1,
    batch_tokens=200,
    schedule=Constant(),
    average=Recent(count=3),
    validate_every=1,
    checkpoint_every=2,
    log_every=1,
)


def write(folder, name, sources, targets):
    for side, lines in (("src", sources), ("tgt", targets)):
        (folder / f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines))
    return TextFiles(source=str(folder / f"{name}.src"), target=str(folder / f"{name}.tgt"))


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    """The folder of a run that has learned a little, with its recipe."""
    folder = tmp_path_factory.mktemp("old")
    words = [f"{a}{b}{c}" for a in "abc" for b in "abc" for c in "abcd"]
    train = write(folder, "train", words, [w[::-1] for w in words])
    valid = write(folder, "valid", words[:5], [w[::-1] for w in words[:5]])
    recipe = Recipe(
        data=DataSettings(train=(train,), valid=valid),
        text=TextSettings(source=CharacterSettings()),
        store=StoreSettings(workers=0),
        model=MODEL,
        training=TRAINING,
        evaluation=EvaluationSettings(metric="loss"),
    )
    threads = torch.get_num_threads()
    list(run(recipe, folder / "run"))
    yield folder / "run", recipe
    torch.set_num_threads(threads)


@pytest.fixture
def recipe(old):
    """The same data again, from that model on."""
    folder, given = old
    return msgspec.structs.replace(given, start=StartSettings(model=str(folder)), text=None, model=None)


def trained(recipe, **changes):
    return msgspec.structs.replace(recipe, training=msgspec.structs.replace(recipe.training, **changes))


def weights(folder):
    return bundles.weights(bundles.load(folder).model)


def test_it_begins_where_the_model_ended(old, recipe, tmp_path):
    still = trained(recipe, optimizer=msgspec.structs.replace(TRAINING.optimizer, rate=1e-30), average=NoAverage())
    first = next(e for e in run(still, tmp_path / "run") if isinstance(e, Validated))
    assert first.others["loss"] == pytest.approx(bundles.describe(old[0] / "best").training.value, rel=1e-5)
    for name, value in weights(old[0] / "best").items():
        assert torch.equal(value, weights(tmp_path / "run" / "best")[name]), name


def test_it_learns_on_and_says_from_whom_it_learned(recipe, tmp_path):
    losses = [e.others["loss"] for e in run(trained(recipe, steps=8), tmp_path) if isinstance(e, Validated)]
    assert losses[-1] < losses[0]
    found = bundles.describe(tmp_path / "best")
    assert found.model == MODEL
    assert found.training.steps == 8


def test_it_goes_on_without_the_model_it_started_from_and_with_the_same_numbers(old, recipe, tmp_path):
    copied = tmp_path / "copied"
    shutil.copytree(old[0] / "best", copied)
    recipe = msgspec.structs.replace(recipe, start=StartSettings(model=str(copied)))
    whole = [e.others["loss"] for e in run(recipe, tmp_path / "whole") if isinstance(e, Validated)]
    events = run(recipe, tmp_path / "cut")
    for event in events:
        if getattr(event, "folder", "").endswith("step-2"):
            events.close()
    shutil.rmtree(copied)
    rest = list(run(recipe, tmp_path / "cut"))
    assert [e.step for e in rest if isinstance(e, Started)] == [2]
    assert [e.others["loss"] for e in rest if isinstance(e, Validated)] == whole[2:]


def test_frozen_weights_keep_their_bits_even_in_averages(old, recipe, tmp_path):
    list(run(trained(recipe, freeze=("encoder",), steps=6), tmp_path))
    before, after = weights(old[0] / "best"), weights(tmp_path / "best")
    frozen = {name for name in before if name.startswith("encoder.")}
    assert frozen
    assert all(torch.equal(before[name], after[name]) for name in frozen)
    assert not any(torch.equal(before[name], after[name]) for name in before.keys() - frozen if before[name].dim() == 2)


def test_adapters_alone_learn_and_are_merged_where_the_model_is_kept(old, recipe, tmp_path):
    adapted = trained(recipe, adapters=AdapterSettings(rank=2, weights=("decoder.*",)), average=NoAverage())
    last = [e for e in run(adapted, tmp_path) if isinstance(e, Validated)][-1]
    before, after = weights(old[0] / "best"), weights(tmp_path / "best")
    assert before.keys() == after.keys()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed
    assert all(name.startswith("decoder.") and before[name].dim() == 2 for name in changed)
    assert all(torch.linalg.matrix_rank(after[n] - before[n], atol=1e-6) <= 2 for n in changed)
    assert last.best
    model = load(tmp_path)  # merged, it finds what the validation found with adapters beside the weights
    pairs = [Path(getattr(recipe.data.valid, side)).read_text().split() for side in ("source", "target")]
    scores = model.score(*pairs)
    total = -sum(s.log_prob for s in scores) / sum(len(s.tokens) for s in scores)
    assert total == pytest.approx(last.others["loss"], rel=1e-5)


def test_adapters_need_a_model_to_be_added_to(recipe):
    with pytest.raises(SettingError, match="adapters are added to a trained model, and there is none"):
        trained(msgspec.structs.replace(recipe, start=None), adapters=AdapterSettings())


def test_new_languages_bring_their_tags_and_new_letters_their_pieces(old, recipe, tmp_path):
    parts = [
        msgspec.structs.replace(write(tmp_path, name, ["abc", "bca"] * 4, targets), target_language=name)
        for name, targets in (("xx", ["cba", "acb"] * 4), ("yy", ["ÄÖß", "ßÖÄ"] * 4))
    ]
    data = DataSettings(train=tuple(parts), valid=parts[0])
    start = msgspec.structs.replace(recipe.start, new_pieces=10)
    list(run(msgspec.structs.replace(recipe, data=data, start=start), tmp_path / "run"))
    before, after = bundles.load(old[0] / "best"), bundles.load(tmp_path / "run" / "best")
    size = len(before.tokenizers.source.vocabulary)
    assert after.tokenizers.source.vocabulary.pieces[size:] == ("<2xx>", "<2yy>", "Ä", "Ö", "ß")
    model = load(tmp_path / "run")
    assert model.bundle.description.target_vocabulary == size + 5
    model.translate("abc", request=Request(target_language="yy"))


def test_settings_that_contradict_the_model_are_refused_by_name(recipe, tmp_path):
    other = msgspec.structs.replace(MODEL, size=32)
    with pytest.raises(SettingError, match=r"model.size: 32 here, but 16 in the model to start from"):
        list(run(msgspec.structs.replace(recipe, model=other), tmp_path / "a"))
    with pytest.raises(SettingError, match=r"text.source: differs from that of the model"):
        list(run(msgspec.structs.replace(recipe, text=TextSettings(source=BpeSettings())), tmp_path / "b"))
    texts = DataSettings(train=(Mono(file=recipe.data.train[0].source),))
    with pytest.raises(ModelError, match=r"trained on pairs, and these data are texts"):
        list(run(msgspec.structs.replace(recipe, data=texts), tmp_path / "c"))


def test_the_same_settings_and_another_dropout_are_taken(recipe, tmp_path):
    dropout = msgspec.structs.replace(MODEL.dropout, hidden=0.4)
    same = msgspec.structs.replace(
        recipe,
        model=msgspec.structs.replace(MODEL, dropout=dropout),
        text=TextSettings(source=CharacterSettings()),
    )
    list(run(same, tmp_path))
    assert bundles.describe(tmp_path / "best").model.dropout.hidden == 0.4
