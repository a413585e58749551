"""How fast do the Transformer presets train, against transformers' Marian and torch.nn.Transformer of the same size?

Forward and backward of all three run in turns, on the same batch, with the same dropout. Printed are the median over
the turns of each time and of the ratios within a turn, and the share of the machine's peak (measured by a large
product) that ours reaches. Wanted is a ratio of 1.3 to both.

    python benchmarks/models.py                       the presets at their own size
    python benchmarks/models.py tiny --words 1000     one of them, with a small vocabulary, to try it out
    python benchmarks/models.py --keep-freed          all three with the memory settings of `dragoman train`
    python benchmarks/models.py --save                keeps the result under benchmarks/results
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from msgspec.structs import replace
from torch import Tensor, nn
from torch.nn import functional

import record
from dragoman.devices import keep_freed_memory, measure_peak
from dragoman.models import presets
from dragoman.models.build import build
from dragoman.models.positions import Sinusoidal
from dragoman.models.seq2seq import Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from dragoman.models.transformer import TransformerSettings

NAMES = ("tiny", "small", "base", "big", "deep_shallow")
IGNORED = -100
WANTED = 1.3


@dataclass(frozen=True)
class Batch:
    """One batch in the forms that the three models read."""

    source: Source
    ids: Tensor
    inputs: Tensor
    targets: Tensor
    lengths: Tensor

    @classmethod
    def of(cls, words: int, rows: int, longest: int) -> Batch:
        """Sentences of three quarters of the greatest length up to the whole of it, as batches by length have them."""
        generator = torch.Generator().manual_seed(1)

        def side() -> tuple[Tensor, Tensor]:
            lengths = torch.randint(longest * 3 // 4, longest + 1, (rows,), generator=generator)
            lengths[0] = longest
            ids = torch.randint(4, words, (rows, longest), generator=generator)
            return ids.masked_fill(torch.arange(longest) >= lengths[:, None], 0), lengths

        ids, lengths = side()
        targets, target_lengths = side()
        inputs = functional.pad(targets[:, :-1], (1, 0), value=2)
        return cls(Source(lengths, ids), ids, inputs, targets, target_lengths)


class Plain(nn.Module):
    """torch.nn.Transformer between tied embeddings."""

    def __init__(self, settings: TransformerSettings, words: int, *, smoothing: float = 0.0) -> None:
        super().__init__()
        self.smoothing = smoothing
        self.embedding = nn.Embedding(words, settings.size)
        nn.init.normal_(self.embedding.weight, std=settings.size**-0.5)
        self.positions = Sinusoidal(settings.size)
        self.dropout = nn.Dropout(settings.dropout.hidden)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on nested tensors, which pre-norm cannot use
            self.transformer = nn.Transformer(
                settings.size,
                settings.attention.heads,
                settings.encoder_layers,
                settings.decoder_layers,
                settings.feedforward.size,
                dropout=settings.dropout.hidden,
                norm_first=settings.norm.place == "pre",
                batch_first=True,
            )
        for module in self.transformer.modules():  # the others drop neither attention nor inside the feed-forward layer
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0
            elif isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                module.dropout.p = 0.0

    def forward(self, batch: Batch) -> Tensor:
        causal = nn.Transformer.generate_square_subsequent_mask(batch.inputs.shape[1])
        padding = torch.zeros(batch.ids.shape).masked_fill(batch.ids == 0, float("-inf"))
        outputs = self.transformer(
            self.entered(batch.ids),
            self.entered(batch.inputs),
            tgt_mask=causal,
            tgt_is_causal=True,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        logits = functional.linear(outputs, self.embedding.weight)
        return _smoothed(logits, batch.targets.masked_fill(batch.targets == 0, IGNORED), self.smoothing)

    def entered(self, ids: Tensor) -> Tensor:
        positions = self.positions(torch.arange(ids.shape[1]))
        return self.dropout(self.embedding(ids) * math.sqrt(self.embedding.embedding_dim) + positions)


def _ours(settings: TransformerSettings, words: int) -> tuple[nn.Module, Callable[[Batch], Tensor]]:
    model = build(settings, target_vocabulary=words)

    def loss(batch: Batch) -> Tensor:
        hidden = model.hidden(batch.source, batch.inputs, batch.lengths)
        return functional.cross_entropy(model.logits(hidden), batch.targets[batch.targets != 0])

    return model, loss


def marian(
    settings: TransformerSettings, words: int, *, smoothing: float = 0.0
) -> tuple[nn.Module, Callable[[Batch], Tensor]]:
    """Marian of transformers, and its loss."""
    from transformers import MarianConfig, MarianMTModel

    config = MarianConfig(
        vocab_size=words,
        d_model=settings.size,
        encoder_layers=settings.encoder_layers,
        decoder_layers=settings.decoder_layers,
        encoder_attention_heads=settings.attention.heads,
        decoder_attention_heads=settings.attention.heads,
        encoder_ffn_dim=settings.feedforward.size,
        decoder_ffn_dim=settings.feedforward.size,
        activation_function=settings.feedforward.activation,
        dropout=settings.dropout.hidden,
        attention_dropout=0.0,
        scale_embedding=True,
        pad_token_id=0,
        eos_token_id=3,
        decoder_start_token_id=2,
        forced_eos_token_id=None,
    )
    model = MarianMTModel(config).train()

    def loss(batch: Batch) -> Tensor:
        labels = batch.targets.masked_fill(batch.targets == 0, IGNORED)
        found = model(
            input_ids=batch.ids,
            attention_mask=(batch.ids != 0).long(),
            decoder_input_ids=batch.inputs,
            labels=None if smoothing else labels,
            use_cache=False,
        )
        loss: Tensor = _smoothed(found.logits, labels, smoothing) if smoothing else found.loss
        return loss

    return model, loss


def plain(
    settings: TransformerSettings, words: int, *, smoothing: float = 0.0
) -> tuple[nn.Module, Callable[[Batch], Tensor]]:
    """torch.nn.Transformer and its loss."""
    model = Plain(settings, words, smoothing=smoothing)
    return model, model.forward


def _smoothed(logits: Tensor, labels: Tensor, smoothing: float) -> Tensor:
    return functional.cross_entropy(
        logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED, label_smoothing=smoothing
    )


def _seconds(model: nn.Module, loss: Callable[[Batch], Tensor], batch: Batch) -> float:
    model.zero_grad()
    begun = time.perf_counter()
    loss(batch).backward()
    return time.perf_counter() - begun


def _operations(model: nn.Module, batch: Batch) -> int:
    """Multiplications and additions of all maps in a forward and a backward pass, on positions that count."""
    read, said = int(batch.source.lengths_B.sum()), int(batch.lengths.sum())
    total = 0
    for name, parameter in model.named_parameters():
        if parameter.dim() != 2 or name.startswith("encoder.embedding."):
            continue
        of_source = name.startswith("encoder.") or ".cross.memory." in name
        total += parameter.numel() * (read if of_source else said)  # the shared table counts as output layer
    table = dict(model.named_parameters()).get("encoder.embedding.embedding.weight")
    return 6 * (total + (0 if table is None else table.numel() * said))


def _measured(name: str, arguments: argparse.Namespace, peak: float) -> dict[str, Any]:
    settings = getattr(presets, name)()
    settings = replace(settings, dropout=replace(settings.dropout, hidden=arguments.dropout))
    torch.manual_seed(0)
    batch = Batch.of(arguments.words, arguments.rows, arguments.longest)
    pairs = [make(settings, arguments.words) for make in (_ours, marian, plain)]
    for model, loss in pairs:
        _seconds(model, loss, batch)
    turns = [[_seconds(model, loss, batch) for model, loss in pairs] for _ in range(arguments.turns)]
    mine, theirs, torchs = (statistics.median(each) for each in zip(*turns, strict=True))
    to_marian, to_torch = (statistics.median(turn[i] / turn[0] for turn in turns) for i in (1, 2))
    return {
        "preset": name,
        "ours_ms": round(mine * 1e3, 1),
        "marian_ms": round(theirs * 1e3, 1),
        "torch_ms": round(torchs * 1e3, 1),
        "to_marian": round(to_marian, 2),
        "to_torch": round(to_torch, 2),
        "tokens_per_second": round(int(batch.lengths.sum()) / mine),
        "share_of_peak": round(_operations(pairs[0][0], batch) / mine / peak, 3),
    }


def main() -> int:
    """Measure, print, and say whether it is quick enough."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("presets", nargs="*", default=NAMES, metavar="PRESET", help=" ".join(NAMES))
    parser.add_argument("--words", type=int, default=8000, help="size of the vocabulary")
    parser.add_argument("--rows", type=int, default=64, help="sentences of the batch")
    parser.add_argument("--longest", type=int, default=32, help="positions of the longest sentence")
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--turns", type=int, default=5, help="times that each is measured")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--keep-freed", action="store_true", help="have the process keep freed memory, as train does")
    parser.add_argument("--save", action="store_true", help="keep the result, with today's date")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    if arguments.keep_freed:
        keep_freed_memory()
    peak = 1e9 * measure_peak("float32")
    print(f"float32, {arguments.threads} threads, measured peak {peak / 1e9:.0f} GFLOP/s")
    print(f"{'preset':13} {'ours':>10} {'marian':>10} {'torch':>10} {'ratios':>11} {'tokens/s':>9} {'of peak':>8}")
    rows = []
    for name in arguments.presets:
        row = _measured(name, arguments, peak)
        rows.append(row)
        print(
            f"{name:13} {row['ours_ms']:8.1f}ms {row['marian_ms']:8.1f}ms {row['torch_ms']:8.1f}ms "
            f"{row['to_marian']:5.2f} {row['to_torch']:5.2f} {row['tokens_per_second']:9,} {row['share_of_peak']:8.1%}"
        )
    reached = all(min(row["to_marian"], row["to_torch"]) >= WANTED for row in rows)
    print(f"wanted: {WANTED} times as fast as both: {'reached' if reached else 'NOT REACHED'}")
    if arguments.save:
        record.save("models", {**vars(arguments), "peak_gflops": round(peak / 1e9), "measured": rows})
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
