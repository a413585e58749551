"""How much faster the loader delivers tokens than a model trains on them, measured in the same run on one core.

The model is a plain nn.Transformer of 2.6 million parameters (4 + 4 layers, size 128, feed-forward 256, 4 heads, a
shared vocabulary of 10,000), trained with Adam on Multi30k, English to German, found through DRAGOMAN_DATA. Wanted:
50 times its target tokens per second from the store, 10 times with BPE-dropout.

    python benchmarks/loader.py           prints the figures
    python benchmarks/loader.py --save    also writes benchmarks/results/DATE-loader.json
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

import record
from dragoman.data.corpus import TextFiles, build
from dragoman.data.encoding import Encoder, TextEncoder
from dragoman.data.loader import Loader, Sampling
from dragoman.data.order import Order
from dragoman.data.preparation import Part, write
from dragoman.text.build import TextSettings, train_tokenizers
from dragoman.text.subword import BpeSettings
from dragoman.text.vocabulary import PAD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dragoman.data.batch import Batch

BATCH_TOKENS = 4096
WANTED = {"stored": 50, "cut_anew": 10}


class PlainTransformer(nn.Module):
    """torch's own Transformer with embeddings and an output layer that share their weights."""

    def __init__(self, vocabulary: int, size: int = 128) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, size, padding_idx=PAD)
        self.transformer = nn.Transformer(
            size, nhead=4, num_encoder_layers=4, num_decoder_layers=4, dim_feedforward=256, batch_first=True
        )
        self.output = nn.Linear(size, vocabulary, bias=False)
        self.output.weight = self.embedding.weight
        positions = torch.arange(512)[:, None] / 10_000 ** (torch.arange(0, size, 2) / size)
        self.register_buffer("positions", torch.stack([positions.sin(), positions.cos()], dim=-1).flatten(1))

    def forward(self, source_ids_BS: Tensor, inputs_BT: Tensor) -> Tensor:
        causal_TT = nn.Transformer.generate_square_subsequent_mask(inputs_BT.shape[1]).isinf()
        states_BTD = self.transformer(
            self._embedded(source_ids_BS),
            self._embedded(inputs_BT),
            tgt_mask=causal_TT,
            src_key_padding_mask=source_ids_BS == PAD,
            tgt_key_padding_mask=inputs_BT == PAD,
            memory_key_padding_mask=source_ids_BS == PAD,
            tgt_is_causal=True,
        )
        return self.output(states_BTD)

    def _embedded(self, ids_BT: Tensor) -> Tensor:
        vectors_BTD = self.embedding(ids_BT)
        return vectors_BTD * math.sqrt(vectors_BTD.shape[-1]) + self.positions[: ids_BT.shape[1]]


def training_speed(batches: Iterator[Batch], *, vocabulary: int, steps: int) -> float:
    """Target tokens per second of a training loop, its batches at hand before the clock starts."""
    torch.manual_seed(1)
    model = PlainTransformer(vocabulary)
    print(f"parameters: {sum(p.numel() for p in model.parameters()):,}")
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    ready = [next(batches) for _ in range(steps + 1)]
    tokens, begin = 0, 0.0
    for number, batch in enumerate(ready):
        if number == 1:  # the first step warms up
            begin = time.perf_counter()
        logits_BTV = model(batch.source_ids_BS, batch.inputs_BT)
        loss = nn.functional.cross_entropy(logits_BTV.flatten(0, 1), batch.labels_BT.flatten(), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tokens += batch.target_tokens if number else 0
    return tokens / (time.perf_counter() - begin)


def loading_speed(loader: Loader, *, epochs: int) -> float:
    """Target tokens per second that a loader delivers, planning of the epochs included."""
    with closing(loader.batches()) as warm:  # the first look at a word takes longer than later ones
        next(warm)
    begin, tokens = time.perf_counter(), 0
    for batch in loader.batches(until=epochs * loader.order.examples):
        tokens += batch.target_tokens
    return tokens / (time.perf_counter() - begin)


def measured(folder: Path, data: Path, *, steps: int) -> dict[str, float]:
    """Target tokens per second of training and of loading, and their ratios."""
    corpus = build(
        TextFiles(source=str(data / "train.lc.norm.tok.en.gz"), target=str(data / "train.lc.norm.tok.de.gz"))
    )
    settings = TextSettings(source=BpeSettings(dropout=0.1), vocabulary_size=10_000)
    pairs = list(corpus)
    tokenizer = train_tokenizers(settings, sources=[p.source for p in pairs], targets=[p.target for p in pairs]).target
    side = TextEncoder(tokenizer, longest=256, keep_text=True)
    store = write(folder, [Part(pairs, "")], encoder=Encoder(side, side), workers=0)
    order = Order.of(store, batch_tokens=BATCH_TOKENS, seed=1)
    stored = Loader(store=store, order=order)
    cut_anew = Loader(store=store, order=order, sampling=Sampling(tokenizer, tokenizer))
    trained = training_speed(stored.batches(), vocabulary=len(tokenizer.vocabulary), steps=steps)
    speeds = {"stored": loading_speed(stored, epochs=5), "cut_anew": loading_speed(cut_anew, epochs=1)}
    return {
        "padding": round(order.padding(), 4),
        "training_tokens_per_second": round(trained),
        **{f"{name}_tokens_per_second": round(speed) for name, speed in speeds.items()},
        **{f"{name}_ratio": round(speed / trained, 1) for name, speed in speeds.items()},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20, help="training steps that are timed")
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    data = Path(os.environ.get("DRAGOMAN_DATA", "")) / "multi30k" / "tok"
    if not data.is_dir():
        print("skipped: needs the data set multi30k, found through DRAGOMAN_DATA")
        return 0
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        figures = measured(Path(folder) / "store", data, steps=options.steps)
    for name, value in figures.items():
        print(f"{name.replace('_', ' '):28} {value:,}")
    kept = all(figures[f"{name}_ratio"] >= times for name, times in WANTED.items())
    print(f"wanted: {WANTED['stored']} and {WANTED['cut_anew']} times: {'reached' if kept else 'NOT REACHED'}")
    if options.save:
        record.save("loader", figures)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
