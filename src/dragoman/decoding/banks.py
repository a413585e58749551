"""How a beam is shared out where words are required: among hypotheses that have said more and less of them.

Compared by score alone, hypotheses that put the required words off would push out those that have said them. So the
candidates are sorted into banks by how much they have said, and the banks take turns:

    bank 2   -6.0                  first -6.0, then -2.0, -0.5,
    bank 1   -2.0  -2.5            then -2.5, -0.7 ...
    bank 0   -0.5  -0.7  -0.9
"""

from __future__ import annotations

from itertools import chain, zip_longest
from typing import TYPE_CHECKING

import torch

from dragoman.decoding.required import missing, next_tokens, progress
from dragoman.decoding.step import Best

if TYPE_CHECKING:
    from dragoman.decoding.grid import Grid, Picked
    from dragoman.decoding.live import Live, Phrase
    from dragoman.decoding.step import Scores

__all__ = ["best_of_banks", "is_constrained", "with_next_tokens"]


def is_constrained(live: Live) -> bool:
    """Whether any sentence requires words (and a filter sees to it, so that there is a history)."""
    return live.history_RT is not None and any(sentence.required for sentence in live.sentences)


def with_next_tokens(best: Best, scores: Scores, live: Live) -> Best:
    """The best tokens of each row, and those that say more of what is required, however improbable."""
    extra: list[list[int]] = []
    for said, owner, known in zip(_said(live), live.sentence_R.tolist(), best.tokens_RK.tolist(), strict=True):
        sentence = live.sentences[owner]
        absent = missing(said, sentence) if sentence.required else ()
        extra.append(sorted(next_tokens(said, absent) - set(known)))
    width = max(map(len, extra))
    tokens_RK = torch.tensor([[*tokens, *[-1] * (width - len(tokens))] for tokens in extra]).to(best.tokens_RK)
    rows_RK = torch.arange(live.rows, device=tokens_RK.device)[:, None].expand(tokens_RK.shape)
    log_probs_RK = scores.at(rows_RK.flatten(), tokens_RK.flatten()).view(tokens_RK.shape)
    return Best(torch.cat([best.log_probs_RK, log_probs_RK], dim=1), torch.cat([best.tokens_RK, tokens_RK], dim=1))


def best_of_banks(grid: Grid, live: Live, k: int) -> Picked:
    """The `k` candidates of each sentence, shared among banks where words are required."""
    order = grid.totals_BC.sort(dim=1, descending=True, stable=True)
    plain = [
        [column for column, total in zip(columns, totals, strict=True) if total > -torch.inf]
        for columns, totals in zip(order.indices[:, :k].tolist(), order.values[:, :k].tolist(), strict=True)
    ]
    said = _said(live)
    firsts = grid.firsts_B.tolist()
    for place, sentence in enumerate(live.sentences):
        if sentence.required:
            totals, tokens = grid.totals_BC[place].tolist(), grid.tokens_BC[place].tolist()
            possible = [column for column, total in enumerate(totals) if total > -torch.inf]
            possible.sort(key=lambda column: -totals[column])
            banks: dict[int, list[int]] = {}
            for column in possible:
                before = said[firsts[place] + column // grid.each]
                banks.setdefault(progress((*before, tokens[column]), sentence), []).append(column)
            chosen = taken_in_turn([banks[bank] for bank in sorted(banks, reverse=True)], k)
            plain[place] = sorted(chosen, key=lambda column: -totals[column])
    places = [place for place, columns in enumerate(plain) for _ in columns]
    device = grid.totals_BC.device
    flat = list(chain.from_iterable(plain))
    return grid.picked(
        torch.tensor(places, dtype=torch.long, device=device), torch.tensor(flat, dtype=torch.long, device=device)
    )


def taken_in_turn(banks: list[list[int]], k: int) -> list[int]:
    """The first `k` when each bank gives one in turn."""
    return [each for turn in zip_longest(*banks) for each in turn if each is not None][:k]


def _said(live: Live) -> list[Phrase]:
    """What each row has said."""
    assert live.history_RT is not None
    lengths_R = live.lengths_B[live.sentence_R].tolist()
    histories = live.history_RT.tolist()
    return [tuple(history[len(history) - length :]) for history, length in zip(histories, lengths_R, strict=True)]
