"""Dry runs: what they find is what a run does, and nothing of them is left but prepared data."""

from __future__ import annotations

import math

import msgspec
import pytest

from dragoman.data import phrasebook
from dragoman.data.corpus import DataSettings, Mono, TextFiles
from dragoman.data.preparation import StoreSettings
from dragoman.errors import FileError, ModelError, SettingError
from dragoman.files import locked
from dragoman.models.presets import gru_tiny
from dragoman.models.recurrent_lm import RecurrentLMSettings
from dragoman.recipe import dry_run as module
from dragoman.recipe.dry_run import dry_run
from dragoman.recipe.prepared import prepare_data, training_loader
from dragoman.recipe.run import run
from dragoman.recipe.schema import Recipe
from dragoman.text.build import TextSettings
from dragoman.text.characters import CharacterSettings
from dragoman.training.average import Recent
from dragoman.training.build import TrainingSettings
from dragoman.training.events import Started
from dragoman.training.schedule import Constant
from dragoman.training.validation import EvaluationSettings


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    parts = phrasebook.splits(train=120, dev=12, test=2)
    for name, phrases in (("train", parts.train), ("valid", parts.dev)):
        (folder / f"{name}.en").write_text("".join(f"{p.english}\n" for p in phrases))
        (folder / f"{name}.fr").write_text("".join(f"{p.french}\n" for p in phrases))
    return folder


@pytest.fixture
def recipe(corpus):
    files = [TextFiles(source=str(corpus / f"{n}.en"), target=str(corpus / f"{n}.fr")) for n in ("train", "valid")]
    return Recipe(
        data=DataSettings(train=(files[0],), valid=files[1]),
        text=TextSettings(source=CharacterSettings()),
        store=StoreSettings(workers=0),
        model=msgspec.structs.replace(gru_tiny(), size=16),
        training=TrainingSettings(
            steps=3, batch_tokens=1024, threads=1, schedule=Constant(), average=Recent(count=3), validate_every=1
        ),
        evaluation=EvaluationSettings(metric="loss"),
    )


def test_what_is_found_is_what_a_run_does(recipe, tmp_path):
    found = dry_run(recipe, tmp_path / "out")
    started = next(e for e in run(recipe, tmp_path / "real") if isinstance(e, Started))
    assert found.parameters == started.parameters
    assert found.examples == started.examples == 120
    assert found.valid_examples == 12
    assert found.updates == 3
    assert found.epochs == pytest.approx(3 / found.batches_per_epoch)
    assert found.source_vocabulary == found.target_vocabulary > 30
    assert 0 <= found.padding < 0.5
    assert found.device in ("cpu", "cuda", "mps")


def test_the_loss_is_that_of_an_untrained_model(recipe, tmp_path):
    found = dry_run(recipe, tmp_path / "out")
    assert found.loss == pytest.approx(math.log(found.target_vocabulary), rel=0.1)


def test_the_batch_that_needs_the_most_memory_is_tried(recipe, tmp_path):
    found = dry_run(recipe, tmp_path / "out").longest_batch
    loader = training_loader(recipe, prepare_data(recipe, tmp_path / "out"))
    sizes = [(each.rows, int(each.source_lengths_B.max()), int(each.target_lengths_B.max())) for each in loader.epoch()]
    assert len(sizes) > 3
    assert (found.rows, found.source_length, found.target_length) == max(
        sizes, key=lambda size: size[0] * (size[1] + size[2]) ** 2
    )


def test_time_and_memory_are_of_the_right_order(recipe, tmp_path):
    found = dry_run(recipe, tmp_path / "out")
    assert found.seconds == pytest.approx(3 * found.seconds_per_update)
    assert 1e-4 < found.seconds_per_update < 5
    assert found.tokens_per_second > 100
    assert 1 << 26 < found.memory < 1 << 32
    assert found.memory_available > 1 << 26


def test_a_larger_model_needs_more_memory_and_disk(recipe, tmp_path):
    little = dry_run(recipe, tmp_path / "little")
    larger = msgspec.structs.replace(recipe, model=msgspec.structs.replace(gru_tiny(), size=256))
    much = dry_run(larger, tmp_path / "much")
    weights = 4 * (much.parameters - little.parameters)
    assert much.memory - little.memory > 5 * weights  # gradients, two moments and three snapshots are more than that


def test_the_disk_estimate_is_what_a_run_leaves(recipe, tmp_path):
    model = msgspec.structs.replace(gru_tiny(), size=64)
    training = msgspec.structs.replace(recipe.training, steps=5, checkpoint_every=1, validate_every=1)
    recipe = msgspec.structs.replace(recipe, model=model, training=training)
    found = dry_run(recipe, tmp_path / "dry")
    list(run(recipe, tmp_path / "out"))
    left = sum(path.stat().st_size for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert 0.6 < left / found.disk <= 1  # a checkpoint in the making is not left
    assert found.disk_free > found.disk


def test_only_prepared_data_are_left_and_a_run_uses_them(recipe, tmp_path):
    dry_run(recipe, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {".lock", "data", "text"}
    prepared = (tmp_path / "data" / "train" / "store.json").stat().st_ino
    list(run(recipe, tmp_path))
    assert (tmp_path / "data" / "train" / "store.json").stat().st_ino == prepared


def test_a_dry_run_changes_nothing_in_the_run_after_it(recipe, tmp_path):
    dry_run(recipe, tmp_path / "one")
    losses = [[e.value for e in run(recipe, tmp_path / name) if hasattr(e, "stalls")] for name in ("one", "two")]
    assert losses[0] == losses[1]
    assert len(losses[0]) == 3


def test_a_language_model_has_no_source(recipe, corpus, tmp_path):
    data = DataSettings(train=(Mono(file=str(corpus / "train.en")),))
    found = dry_run(msgspec.structs.replace(recipe, data=data, model=RecurrentLMSettings(size=16)), tmp_path)
    assert found.source_vocabulary == found.longest_batch.source_length == found.valid_examples == 0
    assert any("no validation data" in warning for warning in found.warnings)


def test_shortage_is_told(recipe, tmp_path):
    found = dry_run(recipe, tmp_path / "out")
    assert found.warnings == ()
    short = module.DryRun(**{f: getattr(found, f) for f in found.__slots__} | {"memory_available": 1, "disk_free": 1})
    assert "memory" in short.warnings[0]
    assert "disk" in short.warnings[1]


def test_a_folder_where_a_run_is_going_on_is_refused(recipe, tmp_path):
    with locked(tmp_path / ".lock", purpose="training in this folder"), pytest.raises(FileError, match="training"):
        dry_run(recipe, tmp_path)


def test_what_would_stop_the_run_is_found(recipe, tmp_path, monkeypatch):
    small = msgspec.structs.replace(recipe.training, batch_tokens=8)
    with pytest.raises(SettingError, match="does not fit into a batch"):
        dry_run(msgspec.structs.replace(recipe, training=small), tmp_path / "small")

    class Starved:
        def __call__(self, *_arguments, **_options):
            raise MemoryError

    monkeypatch.setattr("dragoman.training.build.build_objective", lambda *_, **__: Starved())
    with pytest.raises(ModelError, match="does not fit into memory"):
        dry_run(recipe, tmp_path / "starved")
