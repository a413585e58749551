"""Several processes that train one model, on one machine or many: the only door to torch.distributed.

`torchrun` starts the processes (ranks) and, when one is lost, all of them again, from the newest checkpoint. Every rank
sees the same stream of batches, a function of (seed, epoch, index), and takes its rows of each: nobody waits for
batches that another does not have. Gradients are sums over all tokens of all ranks, so a run is the same with any
number of ranks, but for rounding and for what is drawn at random.

The first rank alone reads and writes checkpoints, events and models, and tries the model; the others are told.
"""

from __future__ import annotations

import contextlib
import copy
import datetime as dt
import os
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar, cast, final

import msgspec
import numpy as np
import torch
from torch import distributed
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from dragoman.bundle import load_weights, weights
from dragoman.devices import seed_everything
from dragoman.errors import DragomanError, FileError, SettingError
from dragoman.models.attention import SelfAttention
from dragoman.models.feedforward import FeedForward
from dragoman.training.checkpoint import Checkpoint, Found, RunState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch import Tensor, nn

    from dragoman.models.seq2seq import Model

Parallel = Literal["ddp", "fsdp"]
T = TypeVar("T")

_PATIENCE = dt.timedelta(hours=6)
"""How long ranks wait for the first one, which may be preparing data or trying the model. Lost ones show at once."""

_MEETING = dt.timedelta(minutes=10)
"""How long ranks wait at the start until all are there."""
_GLANCE = dt.timedelta(milliseconds=20)

_BUCKET = 1 << 24
"""Numbers that are added over the ranks at a time: 64 MB, so that gradients never exist twice as a whole."""


class RankLost(DragomanError):  # noqa: N818 - the name says what happened
    """Another process of this run has ended."""

    def __init__(self, what_failed: str) -> None:
        super().__init__(
            f"another process of this run has ended or cannot be reached ({what_failed}); it may have said why. "
            "torchrun starts all of them again if --max-restarts allows it; the run goes on from its last checkpoint"
        )


# ---- the ranks ---------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """The processes of a run, as one of them sees them. Alone, nothing here costs anything."""

    number: int = 0
    count: int = 1
    local_number: int = 0
    """Its number among those of this machine."""
    local_count: int = 1
    seed: int = 0
    restarted: bool = False
    """Whether torchrun has started this run before."""

    @property
    def leads(self) -> bool:
        """Whether this is the first rank."""
        return self.number == 0

    def gathered(self, *numbers: float) -> list[tuple[float, ...]]:
        """The numbers of every rank, in the order of the ranks."""
        if self.count == 1:
            return [numbers]
        mine = torch.tensor(numbers, dtype=torch.float64)
        found = [torch.empty_like(mine) for _ in range(self.count)]
        distributed.all_gather(found, mine)
        return [tuple(each.tolist()) for each in found]

    def sums(self, *numbers: float) -> list[float]:
        """Each number summed over the ranks, in their order: the same bits everywhere."""
        return [sum(column) for column in zip(*self.gathered(*numbers), strict=True)]

    def meet(self) -> None:
        """Wait until all ranks are here."""
        self.gathered(0)  # of nothing at all, nothing would be sent

    def told(self, make: Callable[[], T], kind: type[T]) -> T:
        """What the first rank makes, as all ranks get it."""
        if self.count == 1:
            return make()
        if self.leads:
            value = make()
            self._send(msgspec.msgpack.encode(value))
            return value
        return msgspec.msgpack.decode(self._send(b""), type=kind)

    def found(self, find: Callable[[], Found]) -> Found:
        """The checkpoint that the first rank finds; only it has to see the folder."""
        if self.count == 1:
            return find()
        here = find() if self.leads else None
        arrays = {} if here is None or here.checkpoint is None else here.checkpoint.tensors
        letter = self.told(lambda: _Letter.of(cast("Found", here)), _Letter)
        if letter.state is None:
            return Found(None, letter.problems)
        tensors = {}
        for name, kind, shape in letter.arrays:
            array = np.ascontiguousarray(arrays[name]) if self.leads else np.empty(shape, kind)
            distributed.broadcast(torch.from_numpy(array), 0)
            tensors[name] = array.reshape(shape)
        return Found(Checkpoint(Path(letter.folder), letter.state, tensors), letter.problems)

    def begin(self, step: int) -> None:
        """Start this rank's generators for an update: with several ranks, by (seed, step, rank) alone.

        So a checkpoint need not hold the random states of ranks, and a run can go on with another number of them.
        """
        if self.count > 1:
            entropy = np.random.SeedSequence([self.seed, step, self.number])
            seed_everything(int(entropy.generate_state(1, np.uint64)[0] >> np.uint64(1)))

    @contextlib.contextmanager
    def in_turn(self) -> Iterator[None]:
        """A block that the first rank goes through before the first one of each machine, and these before the rest."""
        turn = 0 if self.leads else 1 if self.local_number == 0 else 2
        for each in range(3):
            if each == turn:
                yield
            self.meet()

    def must_agree(self, fingerprint: str, *, place: str) -> None:
        """Raise FileError unless all ranks have prepared the same data."""
        if self.told(lambda: fingerprint, str) != fingerprint:
            raise FileError(
                f"the data of process {self.number} are not those of the first one",
                place=place,
                remedy="Give all machines the same files, or a folder that they share.",
            )

    def device(self, chosen: torch.device) -> torch.device:
        """The device of this rank, of those that the setting allows."""
        if self.count == 1 or chosen.type == "cpu":
            return chosen
        if chosen.type != "cuda":
            raise SettingError(
                f"{chosen.type} cannot be shared by {self.count} processes",
                place="training.device",
                remedy='Start one process, or use "cpu" or "cuda".',
            )
        if self.local_number >= torch.cuda.device_count():
            raise SettingError(
                f"{self.local_count} processes, but {torch.cuda.device_count()} GPUs on this machine",
                place="--nproc-per-node",
                remedy="Start one process for each GPU.",
            )
        torch.cuda.set_device(self.local_number)
        return torch.device("cuda", self.local_number)

    def _send(self, data: bytes) -> bytes:
        size = torch.tensor([len(data)])
        distributed.broadcast(size, 0)
        content = torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else torch.empty(int(size)).byte()
        distributed.broadcast(content, 0)
        return content.numpy().tobytes()


class _Letter(msgspec.Struct, frozen=True):
    """A found checkpoint without the contents of its arrays."""

    problems: tuple[str, ...]
    folder: str = ""
    state: RunState | None = None
    arrays: tuple[tuple[str, str, tuple[int, ...]], ...] = ()

    @classmethod
    def of(cls, found: Found) -> _Letter:
        if found.checkpoint is None:
            return cls(found.problems)
        arrays = tuple((name, a.dtype.str, a.shape) for name, a in found.checkpoint.tensors.items())
        return cls(found.problems, str(found.checkpoint.folder), found.checkpoint.state, arrays)


def leads() -> bool:
    """Whether this process, started by torchrun or not, is the first of its run: the one that tells what happens."""
    return os.environ.get("RANK", "0") == "0"


def is_alone() -> bool:
    """Whether no other process takes part in this run."""
    return os.environ.get("WORLD_SIZE", "1") == "1"


@contextlib.contextmanager
def joined(chosen: torch.device, *, seed: int) -> Iterator[Ranks]:
    """The ranks that torchrun has started this process among, while the block runs; or this process alone."""
    if is_alone():
        yield Ranks(seed=seed)
        return
    ranks = Ranks(
        number=int(os.environ["RANK"]),
        count=int(os.environ["WORLD_SIZE"]),
        local_number=int(os.environ["LOCAL_RANK"]),
        local_count=int(os.environ["LOCAL_WORLD_SIZE"]),
        seed=seed,
        restarted=int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0,
    )
    device = ranks.device(chosen)
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"  # numbers and letters go over gloo
    try:
        store = _fresh_store(ranks)
        distributed.init_process_group(
            backend, store=store, rank=ranks.number, world_size=ranks.count, timeout=_PATIENCE
        )
        yield ranks
    except RuntimeError as error:
        if isinstance(error, distributed.DistError) or "gloo" in str(error).lower():
            raise RankLost(str(error).splitlines()[0]) from error
        raise
    finally:
        if distributed.is_initialized():
            distributed.destroy_process_group()


def _fresh_store(ranks: Ranks) -> Store:
    """The store through which the ranks find each other, without what earlier attempts have left there.

    torchrun may keep its store when it starts the ranks again, and then torch would call processes that are gone. So
    the first rank calls with a random word, the others answer it with one of their own, and when all have, it repeats
    their answers: who finds his own in there knows that this call is no old one.
    """
    store, *_ = next(iter(rendezvous("env://", timeout=_MEETING)))
    word, call = uuid.uuid4().hex, ""
    others = [f"answer/{number}" for number in range(1, ranks.count)]
    if ranks.leads:
        call = word
        store.set("call", call)
    for _ in range(int(_MEETING / _GLANCE)):
        if ranks.leads:
            answers = [_read(store, key) for key in others]
            if all(answer.startswith(call) for answer in answers):
                store.set("agreed", " ".join(answers))
                return PrefixStore(call, store)
        else:
            if (latest := _read(store, "call")) != call:
                call = latest
                store.set(f"answer/{ranks.number}", call + word)
            if call and call + word in _read(store, "agreed"):
                return PrefixStore(call, store)
        time.sleep(_GLANCE.total_seconds())
    raise RankLost(f"not all of {ranks.count} processes came")


def _read(store: Store, key: str) -> str:
    """What stands in the store; nothing if nothing does."""
    return store.get(key).decode() if store.check([key]) else ""


# ---- how a model lies on the ranks -------------------------------------------------------------------------------


class Layout(Protocol):
    """How model, gradients and the optimizer's state lie on the ranks, and how they come together."""

    ranks: Ranks
    alike: bool
    """Whether all ranks must go through the same passes; else each may leave out or split its rows."""

    def scale(self, tokens: float) -> float:
        """What the loss of a token is multiplied with, that gradients are those of the mean over so many tokens."""
        ...

    def add_gradients(self) -> None:
        """Sum the gradients over the ranks, where this is not done yet."""
        ...

    def whole(self, tensor: Tensor) -> Tensor:
        """A tensor of this rank, with what other ranks hold of it."""
        ...

    def part(self, key: str, tensor: Tensor) -> Tensor:
        """What this rank holds of a whole tensor; `key` names it, with the name of its parameter between bars."""
        ...

    def usable(self) -> Model:
        """The whole model as it is now, which on the first rank can be used."""
        ...


@final
class Copies:
    """Every rank has the whole model. Gradients are added once, after the last backward pass of an update.

    So objectives may run backward as often and in as many pieces as they like, and a rank that is short of memory may
    split its rows. A parameter that got no gradient on any rank has none afterwards.
    """

    alike = False

    def __init__(self, model: Model, ranks: Ranks) -> None:
        self._model = model
        self.ranks = ranks

    def scale(self, tokens: float) -> float:
        return 1 / tokens

    @torch.no_grad()
    def add_gradients(self) -> None:
        if self.ranks.count == 1:
            return
        trained = [p for p in self._model.parameters() if p.requires_grad]
        having = self.ranks.sums(*(p.grad is not None for p in trained))
        present = [p for p, count in zip(trained, having, strict=True) if count]
        for bucket in _buckets(present):
            flat = torch.cat([torch.zeros_like(p).flatten() if p.grad is None else p.grad.flatten() for p in bucket])
            distributed.all_reduce(flat)
            for parameter, total in zip(bucket, torch.split(flat, [p.numel() for p in bucket]), strict=True):
                if parameter.grad is None:
                    parameter.grad = torch.empty_like(parameter)
                parameter.grad.copy_(total.view_as(parameter))

    def whole(self, tensor: Tensor) -> Tensor:
        return tensor

    def part(self, key: str, tensor: Tensor) -> Tensor:
        del key
        return tensor

    def usable(self) -> Model:
        return self._model


def _buckets(parameters: Sequence[nn.Parameter]) -> Iterator[list[nn.Parameter]]:
    """The parameters in their order, some at a time, always cut alike."""
    bucket: list[nn.Parameter] = []
    for parameter in parameters:
        if bucket and sum(p.numel() for p in bucket) + parameter.numel() > _BUCKET:
            yield bucket
            bucket = []
        bucket.append(parameter)
    if bucket:
        yield bucket


@final
class Shards:
    """Every rank keeps a part of each parameter, of its gradient and of the optimizer's state (FSDP2).

    Attention and feed-forward layers are gathered when they are needed; the rest (embeddings, output layer, recurrent
    layers) for the whole of a pass. The first rank has a whole model too, for trying and saving it.
    """

    alike = True

    def __init__(self, model: Model, ranks: Ranks, device: torch.device) -> None:
        from torch.distributed.device_mesh import init_device_mesh  # importing these takes seconds
        from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method

        self.ranks = ranks
        self._usable = model
        self.model = copy.deepcopy(model) if ranks.leads else model
        self._mesh = init_device_mesh(device.type, (ranks.count,))
        self._device = device
        module = cast("nn.Module", self.model)
        for inner in list(module.modules()):
            if isinstance(inner, SelfAttention | FeedForward):
                fully_shard(inner, mesh=self._mesh)
        fully_shard(module, mesh=self._mesh)
        register_fsdp_forward_method(module, "hidden")
        self._parameters: dict[str, Tensor] = dict(module.named_parameters())

    def scale(self, tokens: float) -> float:
        return self.ranks.count / tokens  # FSDP2 takes the mean over the ranks

    def add_gradients(self) -> None:
        """FSDP2 adds them in each backward pass."""

    def whole(self, tensor: Tensor) -> Tensor:
        from torch.distributed.tensor import DTensor

        return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor

    def part(self, key: str, tensor: Tensor) -> Tensor:
        from torch.distributed.tensor import DTensor, distribute_tensor

        parameter = next((self._parameters[name] for name in key.split("|") if name in self._parameters), None)
        if not isinstance(parameter, DTensor) or tensor.shape != parameter.shape:
            return tensor
        return distribute_tensor(tensor.to(self._device), self._mesh, parameter.placements, src_data_rank=None)

    @torch.no_grad()
    def usable(self) -> Model:
        gathered = ((name, self.whole(value)) for name, value in weights(self.model).items())
        if self.ranks.leads:
            load_weights(self._usable, dict(gathered))
        else:
            for _ in gathered:
                pass
        return self._usable


def laid_out(parallel: Parallel, model: Model, ranks: Ranks, *, device: torch.device) -> tuple[Model, Copies | Shards]:
    """The model to train, as it lies on the ranks."""
    if parallel == "ddp" or ranks.count == 1:
        return model, Copies(model, ranks)
    shards = Shards(model, ranks, device)
    return shards.model, shards
