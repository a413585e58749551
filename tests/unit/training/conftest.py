"""A small store of digits and their reverse, tiny models, and the parts of a run over them."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
import torch

from dragoman import bundle as bundles
from dragoman.bundle import Bundle, Description
from dragoman.data.corpus import Pair
from dragoman.data.encoding import Encoder, TextEncoder
from dragoman.data.loader import Loader
from dragoman.data.order import Order
from dragoman.data.preparation import Part, write
from dragoman.models.attention import AttentionSettings
from dragoman.models.dropout import DropoutSettings
from dragoman.models.feedforward import FeedForwardSettings
from dragoman.models.transformer import TransformerSettings
from dragoman.text.build import TextSettings, Tokenizers, train_tokenizer
from dragoman.text.characters import CharacterSettings
from dragoman.training.average import Exponential
from dragoman.training.build import TrainingSettings, build_parts
from dragoman.training.loop import train
from dragoman.training.optimizer import AdamW
from dragoman.training.schedule import Constant

TINY = TransformerSettings(
    size=16,
    encoder_layers=1,
    decoder_layers=1,
    attention=AttentionSettings(heads=2),
    feedforward=FeedForwardSettings(size=32),
    dropout=DropoutSettings(hidden=0.1),
)


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """One thread, so that sums are the same however many cores there are."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def digits():
    """120 strings of digits."""
    draw = random.Random(1)
    return ["".join(draw.choices("0123456789", k=draw.randint(3, 9))) for _ in range(120)]


@pytest.fixture(scope="session")
def tokenizer(digits):
    """A digit is a piece."""
    return train_tokenizer(CharacterSettings(), TextSettings(), texts=digits, size=None)


@pytest.fixture(scope="session")
def store(digits, tokenizer, tmp_path_factory):
    """The digits and their reverse."""
    side = TextEncoder(tokenizer, longest=50)
    pairs = [Pair(d, d[::-1], "made", i) for i, d in enumerate(digits, 1)]
    return write(
        tmp_path_factory.mktemp("data") / "store", [Part(pairs, "made")], encoder=Encoder(side, side), workers=0
    )


@pytest.fixture
def loader(store):
    return Loader(store=store, order=Order.of(store, batch_tokens=100, seed=3))


@pytest.fixture
def make_run(loader, tokenizer):
    """A function from training settings to the parts and limits of a run, always with the same first weights."""

    def make(*, validate=None, model=TINY, objective=None, schedule=None, **settings):
        torch.manual_seed(5)
        defaults = {
            "steps": 12,
            "batch_tokens": 100,
            "optimizer": AdamW(rate=1e-2),
            "average": Exponential(decay=0.9),
            "validate_every": 4,
            "checkpoint_every": 4,
            "log_every": 4,
        }
        chosen = TrainingSettings(schedule=schedule or Constant(), **{**defaults, **settings})
        description = Description(model=model, source_vocabulary=None, target_vocabulary=20)
        parts = build_parts(
            chosen,
            bundle=Bundle(description, bundles.build_model(description), Tokenizers(tokenizer, tokenizer)),
            loader=loader,
            validate=validate,
            device=torch.device("cpu"),
            recipe='{"made":"by a test"}',
        )
        return (parts if objective is None else replace(parts, objective=objective)), chosen.limits()

    return make


@pytest.fixture
def events_of(make_run, tmp_path):
    """A function from training settings to the events of a whole run in a folder, and its model."""

    def run(folder="run", *, stop=lambda: None, **settings):
        parts, limits = make_run(**settings)
        (tmp_path / folder).mkdir(exist_ok=True)
        return list(train(parts, limits, tmp_path / folder, stop=stop)), parts.model

    return run
