"""How fast do models of the same weights translate in different engines?

Ours (float32, bfloat16, int8), transformers' `generate`, and CTranslate2 (float32, int8) translate the English side
of Multi30k's test set with Marian models of random weights, which ours, transformers' and CTranslate2's share.
Outputs are made 25 tokens long, so that all do the same work; `ours-int8-list` looks at a short-list of the vocabulary,
100 translations of each source word, which the others do not. What that and fewer bits cost in quality:
`benchmarks/precision.py`. Each engine runs in processes of its own:

- in bulk: two processes of one thread, each with half of the sentences (transformers: one process, two threads);
- one sentence after the other, in one process;
- from the start of a process to its first translation.

    python benchmarks/decoding.py                            everything: takes a while
    python benchmarks/decoding.py --models tiny --engines ours-int8 ct2-int8 --beams 5
    python benchmarks/decoding.py --processes 1              and look at the seconds of the processor, on a busy machine
    python benchmarks/decoding.py --save                     keeps the result under benchmarks/results
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Sequence

LENGTH = 25
MODELS = {"tiny": (128, 4, 256, 4, 4), "base": (512, 8, 2048, 6, 6), "deep_shallow": (512, 8, 2048, 12, 1)}
"""Size, heads, inner size, layers of the encoder and of the decoder."""
WORDS = {"tiny": 10_000, "base": 32_000, "deep_shallow": 32_000}
ENGINES = ("ours-float32", "ours-bfloat16", "ours-int8", "ours-int8-list", "transformers", "ct2-float32", "ct2-int8")
BATCH = {"transformers": 64, "ct2-float32": 64, "ct2-int8": 64}
SHORT_LIST = 100
"""Translations of each source word on a short-list."""
SINGLE = 30
"""Sentences that are translated one by one."""


class Engine(Protocol):
    """Translates pieces or texts; nobody looks at the outputs."""

    def __call__(self, texts: Sequence[str], beam: int) -> int:
        """How many tokens came out."""
        ...


# ---- models on disk ----------------------------------------------------------------------------------------------


def prepare(folder: Path, name: str, data: Path) -> None:
    """Write the model for all engines, if it is not there yet."""
    import torch

    if (folder / "ready").exists():
        return
    torch.manual_seed(1)
    folder.mkdir(parents=True, exist_ok=True)
    theirs = _marian(name)
    theirs.save_pretrained(folder / "huggingface")
    _write_ours(theirs, folder / "ours", name, data)
    _write_ctranslate2(theirs, folder, WORDS[name])
    (folder / "ready").touch()


def _marian(name: str) -> Any:
    from transformers import MarianConfig, MarianMTModel

    size, heads, inner, encoder, decoder = MODELS[name]
    config = MarianConfig(
        vocab_size=WORDS[name],
        d_model=size,
        encoder_layers=encoder,
        decoder_layers=decoder,
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_ffn_dim=inner,
        decoder_ffn_dim=inner,
        activation_function="relu",
        scale_embedding=True,
        max_position_embeddings=512,
        pad_token_id=0,
        eos_token_id=3,
        decoder_start_token_id=2,
        forced_eos_token_id=None,
    )
    return MarianMTModel(config).eval()


def _write_ours(theirs: Any, folder: Path, name: str, data: Path) -> None:
    from dragoman import bundle as bundles
    from dragoman.models.attention import AttentionSettings
    from dragoman.models.embedding import EmbeddingSettings
    from dragoman.models.feedforward import FeedForwardSettings
    from dragoman.models.norm import NormSettings
    from dragoman.models.positions import SinusoidalSettings
    from dragoman.models.transformer import TransformerSettings
    from dragoman.text.build import TextSettings, train_tokenizers
    from dragoman.translator.short_list import with_short_list

    size, heads, inner, encoder, decoder = MODELS[name]
    settings = TransformerSettings(
        size=size,
        encoder_layers=encoder,
        decoder_layers=decoder,
        attention=AttentionSettings(heads=heads),
        feedforward=FeedForwardSettings(size=inner),
        norm=NormSettings(place="post"),
        positions=SinusoidalSettings(interleaved=False),
        embedding=EmbeddingSettings(output_bias=True),
    )
    texts = [lines(data / f"multi30k/raw/train.{language}.gz") for language in ("en", "de", "fr")]
    tokenizers = train_tokenizers(
        TextSettings(vocabulary_size=WORDS[name]), sources=texts[0], targets=[*texts[1], *texts[2]]
    )
    assert len(tokenizers.target.vocabulary) == WORDS[name], "there is text enough for the vocabulary"
    description = bundles.Description(model=settings, source_vocabulary=None, target_vocabulary=WORDS[name])
    model = bundles.build_model(description)
    _copy_stack(model.encoder.stack, theirs.model.encoder)
    _copy_stack(model.decoder, theirs.model.decoder)
    model.embedding.weight.data.copy_(theirs.model.shared.weight.data)
    bundle = bundles.Bundle(description, model, tokenizers)
    bundles.save(with_short_list(bundle, [*texts[0], *texts[0]], [*texts[1], *texts[2]]), folder)


def _copy_stack(ours: Any, theirs: Any) -> None:
    for mine, other in zip(ours.layers, theirs.layers, strict=True):
        attention = other.self_attn
        _copy(mine.mixer.inputs, attention.q_proj, attention.k_proj, attention.v_proj)
        _copy(mine.mixer.output, attention.out_proj)
        _copy(mine.mixer_residual.norm, other.self_attn_layer_norm)
        if mine.cross is not None:
            across = other.encoder_attn
            _copy(mine.cross.queries, across.q_proj)
            _copy(mine.cross.memory, across.k_proj, across.v_proj)
            _copy(mine.cross.output, across.out_proj)
            _copy(mine.cross_residual.norm, other.encoder_attn_layer_norm)
        _copy(mine.feedforward.inputs, other.fc1)
        _copy(mine.feedforward.output, other.fc2)
        _copy(mine.feedforward_residual.norm, other.final_layer_norm)


def _copy(ours: Any, *theirs: Any) -> None:
    import torch

    ours.weight.data.copy_(torch.cat([each.weight.data for each in theirs]))
    ours.bias.data.copy_(torch.cat([each.bias.data for each in theirs]))


def _write_ctranslate2(theirs: Any, folder: Path, words: int) -> None:
    from ctranslate2.converters.transformers import MarianMTLoader

    class Loader(MarianMTLoader):
        """Marian's, with words that are numbers."""

        def get_vocabulary(self, model: Any, tokenizer: Any) -> list[str]:  # noqa: ARG002 - the library's signature
            return [str(i) for i in range(words)]

        def set_config(self, config: Any, model: Any, tokenizer: Any) -> None:  # noqa: ARG002 - as above
            config.eos_token, config.unk_token, config.decoder_start_token = "3", "1", "2"

        def _remove_pad_weights(self, spec: Any) -> None:
            """Nothing: here padding is no row of its own at the end."""

    loader = Loader()
    for precision in ("float32", "int8"):
        spec = loader.get_model_spec(theirs)
        loader.set_config(spec.config, theirs, None)
        spec.register_source_vocabulary([str(i) for i in range(words)])
        spec.register_target_vocabulary([str(i) for i in range(words)])
        spec.validate()
        spec.optimize(quantization=precision)
        target = folder / f"ct2-{precision}"
        target.mkdir(exist_ok=True)
        spec.save(str(target))


def lines(path: Path) -> list[str]:
    """The lines of a compressed file."""
    return gzip.decompress(path.read_bytes()).decode("utf-8").splitlines()


# ---- engines -----------------------------------------------------------------------------------------------------


class Ours:
    """Texts in, texts out."""

    def __init__(self, folder: Path, precision: str, *, short_list: int = 0) -> None:
        import dragoman
        from dragoman.decoding.beam import BeamSettings
        from dragoman.decoding.filters import FilterSettings, LengthLimits
        from dragoman.decoding.greedy import GreedySettings

        self.model = dragoman.load(folder / "ours", precision=precision)
        self.request = dragoman.Request(short_list=short_list)
        filters = FilterSettings(lengths=LengthLimits(most=LENGTH, least=LENGTH - 1, most_extra=500))
        self.searches = {1: GreedySettings(filters=filters)}
        self.searches |= {beam: BeamSettings(beam=beam, filters=filters) for beam in range(2, 20)}

    def __call__(self, texts: Sequence[str], beam: int) -> int:
        found = self.model.translate(list(texts), decoding=self.searches[beam], request=self.request)
        return sum(len(each.tokens) for each in found)


class _OfIds:
    """An engine that reads ids, with our tokenizer before it: longest first, so many at a time."""

    def __init__(self, folder: Path, batch: int) -> None:
        from dragoman.text import build as text

        self.tokenizer = text.load(folder / "ours" / "tokenizer")
        self.batch = batch

    def __call__(self, texts: Sequence[str], beam: int) -> int:
        ids = sorted(([*self.tokenizer.encode(text), 3] for text in texts), key=len, reverse=True)
        total = 0
        for first in range(0, len(ids), self.batch):
            outputs = self.translated(ids[first : first + self.batch], beam)
            total += sum(map(len, outputs))
            for output in outputs:
                self.tokenizer.decode(output)
        return total

    def translated(self, ids: list[list[int]], beam: int) -> list[list[int]]:
        raise NotImplementedError


class Transformers(_OfIds):
    """transformers' generate."""

    def __init__(self, folder: Path, batch: int) -> None:
        super().__init__(folder, batch)
        from transformers import MarianMTModel

        self.model = MarianMTModel.from_pretrained(folder / "huggingface").eval()

    def translated(self, ids: list[list[int]], beam: int) -> list[list[int]]:
        import torch

        longest = max(map(len, ids))
        padded = torch.tensor([[*each, *[0] * (longest - len(each))] for each in ids])
        with torch.inference_mode():
            outputs = self.model.generate(
                padded,
                attention_mask=(padded != 0).long(),
                num_beams=beam,
                do_sample=False,
                min_new_tokens=LENGTH,
                max_new_tokens=LENGTH,
                bad_words_ids=None,
            )
        return [output[1:] for output in outputs.tolist()]


class CTranslate2(_OfIds):
    """CTranslate2 on one thread."""

    def __init__(self, folder: Path, batch: int, precision: str) -> None:
        super().__init__(folder, batch)
        import ctranslate2

        self.model = ctranslate2.Translator(
            str(folder / f"ct2-{precision}"), compute_type=precision, inter_threads=1, intra_threads=1
        )

    def translated(self, ids: list[list[int]], beam: int) -> list[list[int]]:
        outputs = self.model.translate_batch(
            [list(map(str, each)) for each in ids],
            beam_size=beam,
            min_decoding_length=LENGTH,
            max_decoding_length=LENGTH,
        )
        return [list(map(int, output.hypotheses[0])) for output in outputs]


def engine_of(name: str, folder: Path) -> Engine:
    """The engine, loaded."""
    kind, _, precision = name.partition("-")
    match kind:
        case "ours":
            precision, _, listed = precision.partition("-")
            return Ours(folder, precision, short_list=SHORT_LIST if listed else 0)
        case "transformers":
            return Transformers(folder, BATCH[name])
        case _:
            return CTranslate2(folder, BATCH[name], precision)


# ---- inside a process --------------------------------------------------------------------------------------------


def serve(name: str, folder: Path, *, threads: int, beam: int) -> None:
    """Answer one line of JSON for each line of JSON: texts to translate, all at once or one by one."""
    engine: Engine | None = None
    for line in sys.stdin:
        asked = json.loads(line)
        if engine is None:
            if not name.startswith("ct2"):
                import torch

                torch.set_num_threads(threads)
            engine = engine_of(name, folder)
        seconds = []
        before, started = time.process_time(), time.perf_counter()
        tokens = 0
        for texts in [[text] for text in asked["texts"]] if asked["single"] else [asked["texts"]]:
            began = time.perf_counter()
            tokens += engine(texts, beam)
            seconds.append(time.perf_counter() - began)
        answer = {
            "seconds": time.perf_counter() - started,
            "processor": time.process_time() - before,
            "tokens": tokens,
            "each": sorted(seconds),
            "megabytes": _peak(),
        }
        print(json.dumps(answer), flush=True)


def _peak() -> int:
    """Megabytes of memory that this process has held at most."""
    return int(re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text()).group(1)) // 1024


@dataclass
class Process:
    """A process that serves an engine."""

    name: str
    folder: Path
    threads: int
    beam: int

    def __enter__(self) -> Self:
        command = [sys.executable, __file__, "--serve", self.name, str(self.folder), str(self.threads), str(self.beam)]
        environment = {**os.environ, "OMP_NUM_THREADS": str(self.threads)}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stdin.close()
        self.process.wait()

    def ask(self, texts: Sequence[str], *, single: bool = False) -> None:
        """Send texts."""
        self.process.stdin.write(json.dumps({"texts": texts, "single": single}) + "\n")
        self.process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """What came of them."""
        return json.loads(self.process.stdout.readline())


def measured(name: str, folder: Path, texts: Sequence[str], *, beam: int, processes: int) -> dict[str, Any]:
    """Figures of an engine."""
    is_theirs = name == "transformers"
    count, threads = (1, processes) if is_theirs else (processes, 1)
    began = time.perf_counter()
    with Process(name, folder, threads, beam) as first:
        first.ask(texts[:1])
        first.answer()
        start = time.perf_counter() - began
        first.ask(texts[1:4], single=True)
        first.answer()
        first.ask(texts[: 10 if is_theirs else SINGLE], single=True)
        single = first.answer()["each"]
    group = [Process(name, folder, threads, beam) for _ in range(count)]
    for each in group:
        each.__enter__()
    for each in group:
        each.ask(texts[:4])
    for each in group:
        each.answer()
    began = time.perf_counter()
    for place, each in enumerate(group):
        each.ask(texts[place::count])
    answers = [each.answer() for each in group]
    seconds = time.perf_counter() - began
    for each in group:
        each.__exit__()
    return {
        "engine": name,
        "beam": beam,
        "sentences_per_second": round(len(texts) / seconds, 1),
        "tokens_per_second": round(sum(answer["tokens"] for answer in answers) / seconds),
        "processor_ms_per_sentence": round(1e3 * sum(answer["processor"] for answer in answers) / len(texts), 2),
        "single_p50_ms": round(1e3 * single[len(single) // 2], 1),
        "single_p95_ms": round(1e3 * single[int(len(single) * 0.95)], 1),
        "first_translation_s": round(start, 2),
        "megabytes": max(answer["megabytes"] for answer in answers),
    }


def main() -> None:
    """Measure and print."""
    if sys.argv[1:2] == ["--serve"]:
        name, folder, threads, beam = sys.argv[2:]
        serve(name, Path(folder), threads=int(threads), beam=int(beam))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--beams", nargs="+", type=int, default=[1, 5])
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--data", type=Path, default=os.environ.get("DRAGOMAN_DATA"), help="folder of datasets")
    parser.add_argument("--cache", type=Path, default=Path("/tmp/dragoman-benchmark"), help="folder for the models")  # noqa: S108 - may be deleted at any time
    parser.add_argument("--save", action="store_true", help="keep the result, with today's date")
    arguments = parser.parse_args()
    if arguments.data is None:
        print("skipped: name the folder of datasets by --data or DRAGOMAN_DATA")
        return
    texts = lines(arguments.data / "multi30k/raw/test_2016_flickr.en.gz")[: arguments.sentences]
    rows = []
    for model in arguments.models:
        folder = arguments.cache / model
        prepare(folder, model, arguments.data)
        for beam in arguments.beams:
            for name in arguments.engines:
                row = {"model": model} | measured(name, folder, texts, beam=beam, processes=arguments.processes)
                rows.append(row)
                print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    if arguments.save:
        import record

        record.save("decoding", {"sentences": len(texts), "length": LENGTH, "rows": rows})


if __name__ == "__main__":
    main()
