"""The clause said in both languages at once.

The English side is arranged in `english_clause`, the French one in `french_clause`; this file places the phrases, with
the marks that both sides carry.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dragoman.data.phrasebook import english_clause, french_clause
from dragoman.data.phrasebook.draw import DeadEnd
from dragoman.data.phrasebook.lexicon.verbs import for_grown_ups
from dragoman.data.phrasebook.referents import NounPhrase, naming, resolved, young
from dragoman.data.phrasebook.tree import Clause, Marks, Parts
from dragoman.data.phrasebook.words import Pair

if TYPE_CHECKING:
    from dragoman.data.phrasebook.derivation import Derivation
    from dragoman.data.phrasebook.entries import Verb

_NOTHING = Pair([], [])


def say(clause: Clause, work: Derivation) -> Pair:
    """The clause in both languages, without punctuation."""
    clause = _with_address(clause, work)
    thing = clause.direct.noun.name if isinstance(clause.direct, NounPhrase) else ""
    if young(clause.subject) and for_grown_ups(clause.verb, thing):
        raise DeadEnd
    marks = Marks(work.mark(), work.mark(), work.mark(), work.mark())
    negated = clause.negation != "" and clause.verb.french != "être"
    offered = clause.modal is not None and clause.modal.english in ("want to", "would like to")
    questioned = clause.question == "yes-no" and not offered
    direct = _NOTHING
    if clause.direct is not None:
        direct = naming(clause.direct, work, negated=negated, questioned=questioned)
        if isinstance(clause.direct, NounPhrase):
            work.combine(clause.verb.name, clause.direct.noun.name)
    subject = naming(clause.subject, work)
    if clause.negation == "only ne":  # nobody carries the negation
        subject = Pair([(word, mark | marks.negation) for word, mark in subject.english], subject.french)
    parts = Parts(
        marks=marks,
        subject=subject,
        direct=direct,
        indirect=naming(clause.indirect, work) if clause.indirect is not None else _NOTHING,
        predicate=clause.predicate or _NOTHING,
        adverb=work.place(clause.adverb) if clause.adverb else _NOTHING,
        tail=_tail(clause.verb, marks, work),
        to=work.mark(),
        preposition=work.mark() if clause.verb.english_preposition and clause.verb.french_preposition else 0,
    )
    return Pair(english_clause.arranged(clause, parts), french_clause.arranged(clause, parts))


def _with_address(clause: Clause, work: Derivation) -> Clause:
    if work.address.vocative is None:
        return clause
    return replace(
        clause,
        subject=resolved(clause.subject, work),
        direct=resolved(clause.direct, work) if clause.direct else None,
        indirect=resolved(clause.indirect, work) if clause.indirect else None,
    )


def _tail(verb: Verb, marks: Marks, work: Derivation) -> Pair:
    """The fixed words of a verb; those that have no counterpart belong to the verb itself."""
    if verb.tail is None:
        return _NOTHING
    if verb.tail.english and verb.tail.french:
        return work.place(verb.tail)
    return Pair([(w, marks.verb) for w, _ in verb.tail.english], [(w, marks.verb) for w, _ in verb.tail.french])
