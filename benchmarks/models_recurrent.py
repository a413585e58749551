"""How fast do the recurrent presets train, against the loop that every tutorial writes?

Each preset runs forward and backward beside a plain network of torch.nn.GRU or LSTM with the same weights, on the
same batch, in turns. The plain one packs the source, decodes step by step with attention (over the whole sequence
where there is none), and computes the output layer at every position. First their losses are compared. Printed are
the median over the turns of each time and of the ratio within a turn. Wanted is a ratio of 1.3.

    python benchmarks/models_recurrent.py                     the presets at their own size
    python benchmarks/models_recurrent.py --scale 0.1         all sizes a tenth, to try it out
    python benchmarks/models_recurrent.py --keep-freed        both with the memory settings of `dragoman train`
    python benchmarks/models_recurrent.py --save              keeps the result under benchmarks/results
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

import torch
from msgspec.structs import replace
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import record
from dragoman.devices import keep_freed_memory, measure_peak
from dragoman.models import presets
from dragoman.models.build import build
from dragoman.models.recurrence import RecurrentDropoutSettings
from dragoman.models.seq2seq import Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from dragoman.models.recurrence import RecurrentLayer
    from dragoman.models.rnn import RecurrentModel, RecurrentSettings

    Batch = tuple[Source, Tensor, Tensor, Tensor]

NAMES = ("gru_tiny", "bahdanau", "luong", "sutskever")
WANTED = 1.3
KERNELS = {"gru": nn.GRU, "lstm": nn.LSTM, "vanilla": nn.RNN}


class Plain(nn.Module):
    """A recurrent encoder-decoder as tutorials write it, with the weights of one of ours."""

    def __init__(self, settings: RecurrentSettings, ours: RecurrentModel) -> None:
        super().__init__()
        self.settings, self.form = settings, settings.form
        self.source = nn.Embedding.from_pretrained(_copy(ours.encoder.embedding.embedding.weight), freeze=False)
        self.target = nn.Embedding.from_pretrained(_copy(ours.decoder.embedding[0].weight), freeze=False)
        self.encoder = _network(settings.cell, [list(readers) for readers in ours.encoder.layers])
        self.decoder = _network(settings.cell, [[layer] for layer in ours.decoder.stack.layers])
        self.bridge = nn.ModuleList(_linear(each.weight, each.bias) for each in ours.bridge.maps)
        self.cell_bridge = nn.ModuleList(_linear(each.weight, each.bias) for each in ours.bridge.cell_maps)
        if settings.attention is not None:
            score = ours.decoder.reading.score
            if settings.attention.score == "general":
                self.query = _linear(score.map.weight.t())
            else:
                self.query, self.key = _linear(score.query_map.weight), _linear(score.key_map.weight)
                self.energy = _linear(score.energy.weight)
        readout = ours.decoder.readout.map
        self.readout = None if readout is None else _linear(readout.weight, readout.bias)
        self.output = _linear(ours.output.weight, ours.output.bias)

    def forward(self, source: Source, inputs: Tensor) -> Tensor:
        ids = source.ids_BS
        if self.settings.direction == "backward":
            ids = _reversed(ids, source.lengths_B)
        packed = pack_padded_sequence(self.source(ids), source.lengths_B, batch_first=True, enforce_sorted=False)
        packed, state = self.encoder(packed)
        memory, _ = pad_packed_sequence(packed, batch_first=True)
        if len(self.bridge):
            state = self.bridged(state)
        embedded = self.target(inputs)
        if self.form == "none":
            outputs, _ = self.decoder(embedded, state)
            return self.output(outputs)
        padding = ids == 0
        if self.settings.direction == "backward":
            memory = _reversed(memory, source.lengths_B)
        vectors, fed = [], embedded.new_zeros(embedded.shape[0], 1, self.settings.size)
        for step in embedded.split(1, dim=1):
            if self.form == "bahdanau":
                top = state[-1].unsqueeze(1)
                context = self.read(top, memory, padding)
                top, state = self.decoder(torch.cat((step, context), dim=2), state)
                doubled = self.readout(torch.cat((context, top, step), dim=2))
                vectors.append(doubled.unflatten(2, (-1, 2)).amax(3))
                continue
            top, state = self.decoder(torch.cat((step, fed), dim=2) if self.form == "luong_feeding" else step, state)
            fed = torch.tanh(self.readout(torch.cat((self.read(top, memory, padding), top), dim=2)))
            vectors.append(fed)
        return self.output(torch.cat(vectors, dim=1))

    def bridged(self, state: Tensor | tuple[Tensor, Tensor]) -> Tensor | tuple[Tensor, Tensor]:
        """The decoder's first state, from the last ones of the encoder's ways of reading."""
        if isinstance(state, tuple):
            hidden, cells = (torch.cat(tuple(each), dim=1) for each in state)
            return torch.tanh(self.bridge[0](hidden)).unsqueeze(0), self.cell_bridge[0](cells).unsqueeze(0)
        ways = state if self.settings.bridge == "project" else state[1:]
        return torch.tanh(self.bridge[0](torch.cat(tuple(ways), dim=1))).unsqueeze(0)

    def read(self, query: Tensor, memory: Tensor, padding: Tensor) -> Tensor:
        if self.settings.attention.score == "general":
            scores = torch.bmm(self.query(query), memory.transpose(1, 2))
        else:
            scores = self.energy(torch.tanh(self.query(query) + self.key(memory))).transpose(1, 2)
        return torch.bmm(torch.softmax(scores.masked_fill(padding.unsqueeze(1), float("-inf")), dim=2), memory)


def _copy(weight: Tensor) -> Tensor:
    return weight.detach().clone()


def _linear(weight: Tensor, bias: Tensor | None = None) -> nn.Linear:
    made = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
    made.weight.data = _copy(weight).contiguous()
    if bias is not None:
        made.bias.data = _copy(bias)
    return made


def _network(cell: str, layers: list[list[RecurrentLayer]]) -> nn.RNNBase:
    first = layers[0][0]
    made = KERNELS[cell](
        first.input_size,
        first.size,
        num_layers=len(layers),
        batch_first=True,
        bidirectional=len(layers[0]) == 2,
    )
    with torch.no_grad():
        for index, readers in enumerate(layers):
            for layer, suffix in zip(readers, ("", "_reverse"), strict=False):
                for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                    getattr(made, f"{name}_l{index}{suffix}").copy_(getattr(layer, name))
    return made


def _reversed(values: Tensor, lengths: Tensor) -> Tensor:
    return torch.stack([torch.cat((row[:n].flip(0), row[n:])) for row, n in zip(values, lengths.tolist(), strict=True)])


def _batch(words: int, rows: int, longest: int) -> Batch:
    generator = torch.Generator().manual_seed(1)

    def side() -> tuple[Tensor, Tensor]:
        lengths = torch.randint(longest // 3, longest + 1, (rows,), generator=generator)
        lengths[0] = longest
        ids = torch.randint(4, words, (rows, longest), generator=generator)
        return ids.masked_fill(torch.arange(longest) >= lengths[:, None], 0), lengths

    ids, lengths = side()
    targets, target_lengths = side()
    inputs = functional.pad(targets[:, :-1], (1, 0), value=2).masked_fill(targets == 0, 0)
    return Source(lengths, ids), inputs, targets, target_lengths


def _ours(model: RecurrentModel, batch: Batch) -> Tensor:
    source, inputs, targets, lengths = batch
    return functional.cross_entropy(model.logits(model.hidden(source, inputs, lengths)), targets[targets != 0])


def _plain(model: Plain, batch: Batch) -> Tensor:
    source, inputs, targets, _ = batch
    return functional.cross_entropy(model(source, inputs).flatten(0, 1), targets.flatten(), ignore_index=0)


def _seconds(function: Callable[[Any, Batch], Tensor], model: nn.Module, batch: Batch) -> float:
    model.zero_grad()
    begun = time.perf_counter()
    function(model, batch).backward()
    return time.perf_counter() - begun


def _operations(model: RecurrentModel, batch: Batch) -> int:
    """Multiplications and additions of all maps in a forward and a backward pass, on positions that count."""
    source, _, _, lengths = batch
    positions = {"encoder": int(source.lengths_B.sum()), "decoder": int(lengths.sum()), "output": int(lengths.sum())}
    return 6 * sum(
        parameter.numel() * positions.get(name.partition(".")[0], 0)
        for name, parameter in model.named_parameters()
        if parameter.dim() == 2 and ".embedding." not in name
    )


def _measured(name: str, arguments: argparse.Namespace, peak: float) -> dict[str, Any]:
    settings = getattr(presets, name)()
    sizes = {"size": settings.size, "embedding_size": settings.embedding_size, "readout_size": settings.readout_size}
    scaled = {key: max(8, int(value * arguments.scale)) for key, value in sizes.items() if value}
    settings = replace(settings, **scaled, dropout=RecurrentDropoutSettings(hidden=0.0))
    torch.manual_seed(0)
    ours = build(settings, target_vocabulary=arguments.words)
    plain = Plain(settings, ours)
    batch = _batch(arguments.words, arguments.rows, arguments.longest)
    with torch.no_grad():
        difference = abs(float(_ours(ours, batch)) - float(_plain(plain, batch)))
    assert difference < 1e-4, f"{name}: the two compute different losses, {difference:.1e} apart"
    for function, model in ((_ours, ours), (_plain, plain)):
        _seconds(function, model, batch)
    turns = [(_seconds(_ours, ours, batch), _seconds(_plain, plain, batch)) for _ in range(arguments.turns)]
    mine, theirs = (statistics.median(each) for each in zip(*turns, strict=True))
    return {
        "preset": name,
        "ours_ms": round(mine * 1e3, 1),
        "plain_ms": round(theirs * 1e3, 1),
        "ratio": round(statistics.median(other / own for own, other in turns), 2),
        "tokens_per_second": round(int(batch[3].sum()) / mine),
        "share_of_peak": round(_operations(ours, batch) / mine / peak, 3),
    }


def main() -> int:
    """Measure, print, and say whether it is quick enough."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("presets", nargs="*", default=NAMES, metavar="PRESET", help=" ".join(NAMES))
    parser.add_argument("--scale", type=float, default=1.0, help="factor on all sizes")
    parser.add_argument("--words", type=int, default=8000, help="size of the vocabulary")
    parser.add_argument("--rows", type=int, default=64, help="sentences of the batch")
    parser.add_argument("--longest", type=int, default=30, help="positions of the longest sentence")
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
    print(f"{'preset':10} {'ours':>10} {'plain':>10} {'ratio':>6} {'tokens/s':>9} {'of peak':>8}")
    rows = []
    for name in arguments.presets:
        row = _measured(name, arguments, peak)
        rows.append(row)
        print(
            f"{name:10} {row['ours_ms']:8.1f}ms {row['plain_ms']:8.1f}ms {row['ratio']:6.2f} "
            f"{row['tokens_per_second']:9,} {row['share_of_peak']:8.1%}"
        )
    reached = all(row["ratio"] >= WANTED for row in rows)
    print(f"wanted: {WANTED} times as fast: {'reached' if reached else 'NOT REACHED'}")
    if arguments.save:
        record.save("models_recurrent", {**vars(arguments), "peak_gflops": round(peak / 1e9), "measured": rows})
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
