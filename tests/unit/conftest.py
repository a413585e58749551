"""Digits, and a small model that has learned a little about turning them round."""

from __future__ import annotations

import random

import pytest
import torch

from dragoman.data.corpus import DataSettings, TextFiles
from dragoman.data.preparation import StoreSettings
from dragoman.models.rnn import RecurrentSettings
from dragoman.recipe.run import run
from dragoman.recipe.schema import Recipe
from dragoman.text.build import TextSettings
from dragoman.text.characters import CharacterSettings
from dragoman.training.average import NoAverage
from dragoman.training.build import TrainingSettings
from dragoman.training.objectives.cross_entropy import CrossEntropy
from dragoman.training.optimizer import AdamW
from dragoman.training.schedule import Constant


def write_digits(folder, name, count, draw):
    """Files of digits, all different, and of their reverse."""
    texts: dict[str, None] = {}
    while len(texts) < count:
        texts["".join(draw.choices("0123456789", k=draw.randint(3, 6)))] = None
    (folder / f"{name}.src").write_text("".join(f"{each}\n" for each in texts))
    (folder / f"{name}.tgt").write_text("".join(f"{each[::-1]}\n" for each in texts))
    return TextFiles(source=str(folder / f"{name}.src"), target=str(folder / f"{name}.tgt"))


@pytest.fixture
def digit_files(tmp_path):
    """The folder of a test, with 60 pairs to train and 10 to validate on."""
    draw = random.Random(0)
    write_digits(tmp_path, "train", 60, draw)
    write_digits(tmp_path, "valid", 10, draw)
    return tmp_path


@pytest.fixture(scope="session")
def reverser(tmp_path_factory):
    """The folder of a model that has learned for a moment: most of its outputs have an end, and some are right."""
    folder = tmp_path_factory.mktemp("reverser")
    recipe = Recipe(
        data=DataSettings(train=(write_digits(folder, "train", 300, random.Random(1)),)),
        text=TextSettings(source=CharacterSettings()),
        store=StoreSettings(workers=0),
        model=RecurrentSettings(cell="gru", size=24, embedding_size=16),
        training=TrainingSettings(
            steps=100,
            threads=1,
            batch_tokens=400,
            objective=CrossEntropy(smoothing=0.0),
            optimizer=AdamW(rate=1e-2),
            schedule=Constant(),
            average=NoAverage(),
        ),
    )
    threads = torch.get_num_threads()
    list(run(recipe, folder / "run"))
    torch.set_num_threads(threads)
    return folder / "run" / "best"
