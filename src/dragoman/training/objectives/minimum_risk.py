"""Minimum-risk training: outputs that the model itself draws become the more probable, the better a metric finds them.

    risk = Σ_y Q(y) · (100 - metric(y, reference))        Q(y) ∝ P(y | x)^a over the candidates y

of each sentence, with a for alpha (Shen et al. 2016). The search that draws candidates needs no gradient; those flow
through P alone, by

    ∂ risk / ∂ log P(y) = a · Q(y) · (cost(y) - risk)

so the candidates are read twice: once for their probabilities, and once more, a batch's worth at a time and with the
same dropout, for the gradient. Draws are a function of seed, update and example.

Shapes: C candidates of all sentences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import torch

from dragoman.data.batch import padded
from dragoman.data.store import joined
from dragoman.decoding.live import Sentence
from dragoman.decoding.sample import Cut, Sample
from dragoman.decoding.search import Arrival, search_batch
from dragoman.devices import random_state, restore_random_state
from dragoman.engines.eager import eager_step
from dragoman.measures.sentence import SentenceMetricName, sentence_metric, utilities
from dragoman.models.seq2seq import Source
from dragoman.settings import Meta, Settings
from dragoman.text.vocabulary import BOS, EOS
from dragoman.training.objectives import pieces
from dragoman.training.objectives.chance import example_seeds
from dragoman.training.objectives.cross_entropy import TeacherForcing
from dragoman.training.objectives.objective import Smoothing, Sums, Weight, source_of
from dragoman.training.objectives.scheduled_sampling import in_use

if TYPE_CHECKING:
    from torch import Tensor

    from dragoman.data.batch import Batch
    from dragoman.models.seq2seq import Hidden, Model
    from dragoman.text.tokenizer import Tokenizer

_LONGER, _EXTRA = 1.5, 5
"""A candidate may be this many times as long as the reference, and this many tokens longer."""


class MinimumRisk(Settings, frozen=True, kw_only=True, tag_field="kind", tag="minimum_risk"):
    """The expected cost, by a sentence metric, of outputs that the model draws: for a model that is trained already."""

    metric: SentenceMetricName = "bleu"
    """What makes an output good, sentence by sentence."""
    samples: Annotated[int, Meta(ge=2)] = 8
    """Outputs drawn for each sentence; equal ones count once."""
    reference: bool = True
    """The right output is one of the candidates."""
    temperature: Annotated[float, Meta(gt=0)] = 1.0
    """Of the draws: above 1 they differ more."""
    alpha: Annotated[float, Meta(gt=0)] = 0.005
    """Sharpness: how much a probable candidate counts for more than an improbable one."""
    cross_entropy: Weight = 0.1
    """Weight of the cross-entropy with the right tokens; 0 leaves the risk alone."""
    smoothing: Smoothing = 0.1
    """Share of the probability that is spread over the whole vocabulary, in the cross-entropy."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The different outputs of all sentences of a batch, sentence after sentence."""

    tokens: list[tuple[int, ...]]
    """Of each, with its end token if it came to its end."""
    sentence_C: Tensor
    """The sentence of each."""
    costs_C: Tensor
    """What the metric leaves to be desired, 0 to 100."""


class ExpectedRisk:
    """Minimum-risk training."""

    def __init__(self, settings: MinimumRisk, *, tokenizer: Tokenizer, seed: int) -> None:
        self._settings, self._seed = settings, seed
        self._tokenizer = tokenizer
        self._metric = sentence_metric(settings.metric)
        self._forced = TeacherForcing(settings.smoothing)

    def __call__(self, model: Model, batch: Batch, *, scale: float, step: int = 0) -> Sums:
        weight = self._settings.cross_entropy
        with torch.set_grad_enabled(torch.is_grad_enabled() and weight > 0):
            forced = self._forced(model, batch, scale=scale * weight)
        risk = self._risk(model, batch, self.candidates(model, batch, step), scale=scale)
        return Sums(weight * forced.objective + risk, forced.nll, forced.tokens)

    def candidates(self, model: Model, batch: Batch, step: int) -> Candidates:
        """What is drawn for each sentence in this update, and what it costs."""
        drawn = self._drawn(model, batch, step)
        tokens: list[tuple[int, ...]] = []
        sentences: list[int] = []
        costs: list[float] = []
        for row, (labels, length) in enumerate(
            zip(batch.labels_BT.tolist(), batch.target_lengths_B.tolist(), strict=True)
        ):
            right = tuple(labels[:length])
            different = list(dict.fromkeys([*([right] if self._settings.reference else []), *drawn[row]]))
            texts = [self._tokenizer.decode(each) for each in different]
            found = utilities(self._metric, texts, [self._tokenizer.decode(right)])[:, 0]
            tokens += different
            sentences += [row] * len(different)
            costs += (100 - found).tolist()
        device = batch.labels_BT.device
        return Candidates(tokens, torch.tensor(sentences, device=device), torch.tensor(costs, device=device))

    def _drawn(self, model: Model, batch: Batch, step: int) -> list[list[tuple[int, ...]]]:
        seeds = example_seeds(batch, seed=self._seed, step=step).tolist()
        lengths = batch.target_lengths_B.tolist()
        sentences = [
            Sentence(row, max_length=int(_LONGER * length) + _EXTRA, seed=seed)
            for row, (length, seed) in enumerate(zip(lengths, seeds, strict=True))
        ]
        count = self._settings.samples
        strategy = Sample(end=EOS, cut=Cut(temperature=self._settings.temperature), width=count)
        with torch.no_grad(), in_use(model):
            step_of = eager_step(model)
            arrival = Arrival(sentences, step_of.start(source_of(batch)))
            device = batch.labels_BT.device
            outcomes = search_batch(step_of, strategy, batch=arrival, begin=BOS, nbest=count, device=device)
        return [[each.tokens for each in outcome.hypotheses] for outcome in outcomes]

    def _risk(self, model: Model, batch: Batch, candidates: Candidates, *, scale: float) -> float:
        """The sum of the sentences' risks, whose gradient is left in the parameters."""
        groups = _groups(candidates, most=batch.labels_BT.numel())
        log_probs_C = torch.zeros(len(candidates.tokens), dtype=torch.float64, device=batch.labels_BT.device)
        states = []
        for group_G in groups:
            states.append(random_state())
            with torch.no_grad():
                log_probs_C[group_G] = _log_probs(model, batch, candidates, group_G)
        shares_C = _shares(self._settings.alpha * log_probs_C, candidates.sentence_C)
        costs_C = candidates.costs_C.double()
        risks_B = torch.zeros(batch.rows, dtype=torch.float64, device=costs_C.device)
        risks_B.index_add_(0, candidates.sentence_C, shares_C * costs_C)
        if torch.is_grad_enabled():
            slopes_C = self._settings.alpha * shares_C * (costs_C - risks_B[candidates.sentence_C])
            for group_G, state in zip(groups, states, strict=True):
                restore_random_state(state)
                _descend(model, batch, candidates, group_G, slopes_C=slopes_C * scale)
        return float(risks_B.sum())


def _groups(candidates: Candidates, *, most: int) -> list[Tensor]:
    """The places of all candidates, shortest first, in groups that hold at most so many tokens with padding."""
    lengths = [len(tokens) for tokens in candidates.tokens]
    groups: list[list[int]] = [[]]
    for place in sorted(range(len(lengths)), key=lambda place: lengths[place]):
        if groups[-1] and (len(groups[-1]) + 1) * lengths[place] > most:
            groups.append([])
        groups[-1].append(place)
    device = candidates.sentence_C.device
    return [torch.tensor(group, device=device) for group in groups]


def _shares(logits_C: Tensor, sentence_C: Tensor) -> Tensor:
    """The softmax of the logits over the candidates of each sentence."""
    count = int(sentence_C.max()) + 1
    most_B = logits_C.new_full((count,), -torch.inf).scatter_reduce(0, sentence_C, logits_C, "amax")
    mass_C = (logits_C - most_B[sentence_C]).exp()
    return mass_C / logits_C.new_zeros(count).index_add(0, sentence_C, mass_C)[sentence_C]


def _read(model: Model, batch: Batch, candidates: Candidates, group_G: Tensor) -> tuple[Hidden, Tensor, Tensor]:
    """Decoder outputs of a group, their labels, and the place in the group of each."""
    device = batch.labels_BT.device
    labels = [candidates.tokens[place] for place in group_G.tolist()]
    rows = joined([[BOS, *tokens[:-1]] for tokens in labels], dtype="int64")
    inputs_GT = torch.from_numpy(padded(rows, width=int(rows.lengths.max()), dtype="int64")).to(device)
    lengths_G = torch.from_numpy(rows.lengths).to(device)
    source = source_of(batch)
    assert source is not None, "built for models with a source"
    hidden = model.hidden(_selected(source, candidates.sentence_C[group_G]), inputs_GT, lengths_G)
    labels_N = torch.tensor([token for tokens in labels for token in tokens], device=device)
    return hidden, labels_N, torch.arange(len(labels), device=device).repeat_interleave(lengths_G)


def _log_probs(model: Model, batch: Batch, candidates: Candidates, group_G: Tensor) -> Tensor:
    hidden, labels_N, place_N = _read(model, batch, candidates, group_G)
    log_probs_N = torch.cat(
        [
            _label_log_probs(model.logits(hidden.rows(rows)), labels_N[rows])
            for rows in pieces.slices(labels_N.shape[0], pieces.ROWS_AT_ONCE)
        ]
    )
    return log_probs_N.new_zeros(group_G.shape[0], dtype=torch.float64).index_add(0, place_N, log_probs_N.double())


def _descend(model: Model, batch: Batch, candidates: Candidates, group_G: Tensor, *, slopes_C: Tensor) -> None:
    hidden, labels_N, place_N = _read(model, batch, candidates, group_G)
    slopes_N = slopes_C[group_G][place_N].float()

    def loss(rows: slice, piece: Hidden) -> tuple[Tensor, Tensor]:
        value = (slopes_N[rows] * _label_log_probs(model.logits(piece), labels_N[rows])).sum()
        return value, value.detach()

    pieces.in_pieces(hidden, loss, rows=pieces.ROWS_AT_ONCE, scale=1.0)


def _label_log_probs(logits_NV: Tensor, labels_N: Tensor) -> Tensor:
    return logits_NV.float().log_softmax(-1).gather(1, labels_N[:, None])[:, 0]


def _selected(source: Source, rows_G: Tensor) -> Source:
    ids, features = source.ids_BS, source.features_BSF
    return Source(
        source.lengths_B[rows_G],
        None if ids is None else ids[rows_G],
        None if features is None else features[rows_G],
    )
