"""The English side of a clause: auxiliaries, do-support, contractions, and the order of its words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.data.phrasebook import english_sounds
from dragoman.data.phrasebook.english_verbs import BE_PAST, BE_PRESENT, EnglishForms, english_forms
from dragoman.data.phrasebook.referents import Pronoun, Referent, english_person

if TYPE_CHECKING:
    from dragoman.data.phrasebook.tree import Clause, Parts, Tense
    from dragoman.data.phrasebook.words import Token

_LATE_NEGATORS = {"no longer": "anymore", "not yet": "yet"}
# the auxiliary for each person, the words after it, the form of the verb
_COMPOUND: dict[Tense, tuple[tuple[str, str, str], tuple[str, ...], str]] = {
    "progressive": (BE_PRESENT, (), "ing"),
    "was doing": (BE_PAST, (), "ing"),
    "perfect": (("have", "have", "has"), (), "participle"),
    "lasting": (("have", "have", "has"), ("been",), "ing"),
    "going to": (BE_PRESENT, ("going", "to"), "base"),
    "future": (("will", "will", "will"), (), "base"),
    "conditional": (("would", "would", "would"), (), "base"),
}
_WITHOUT_SHIFT = frozenset(["return"])  # returned the book to me, never returned me the book
_POLARITY_OBJECTS = {"nothing": "anything", "nobody": "anyone"}


def arranged(clause: Clause, parts: Parts) -> list[Token]:
    """The English words of the clause."""
    marks = parts.marks
    with_not = clause.negation not in ("", "never", "only ne")
    auxiliary, main = _verb_group(clause, parts, supported=with_not or clause.question != "")
    never = [("never", marks.negation | marks.negator)] if clause.negation == "never" else []
    rest = parts.adverb.english + never + main + _complements(clause, parts)
    if clause.tense in ("imperative", "let us"):
        return rest if not with_not else [("don't", marks.negation | marks.negator), *rest]
    opened = list(clause.fronted.english) if clause.fronted else []
    if auxiliary is None:
        return opened + parts.subject.english + rest
    if with_not:
        auxiliary = _negated(auxiliary, clause, parts)
    if clause.question:
        return [*opened, auxiliary, *parts.subject.english, *rest]
    contractible = isinstance(clause.subject, Pronoun) and english_sounds.contracts(auxiliary[0]) and not never
    if auxiliary[0] == "am not":
        contraction = english_sounds.contracted(parts.subject.english[0], ("am", auxiliary[1] & ~_negation(parts)))
        return [*opened, contraction, ("not", _negation(parts)), *rest]
    if contractible and rest and not with_not:
        return [*opened, english_sounds.contracted(parts.subject.english[0], auxiliary), *rest]
    return [*opened, *parts.subject.english, auxiliary, *rest]


def _negation(parts: Parts) -> int:
    return parts.marks.negation | parts.marks.negator


def _negated(auxiliary: Token, clause: Clause, parts: Parts) -> Token:
    own = parts.marks.negation if clause.negation in _POLARITY_OBJECTS else _negation(parts)
    if clause.negation == "no longer":
        own = parts.marks.negation
    return english_sounds.negated(auxiliary[0]), auxiliary[1] | own


def _verb_group(clause: Clause, parts: Parts, *, supported: bool) -> tuple[Token | None, list[Token]]:
    """The auxiliary, if there is one, and the rest of the verb group."""
    marks = parts.marks
    forms = english_forms(clause.verb.english)
    if clause.modal is None:
        return _tensed(clause.tense, forms, clause.subject, verb=marks.verb, tense=marks.tense, supported=supported)
    base = (forms.base, marks.verb)
    if clause.modal.auxiliary:
        words = clause.modal.english.split()
        return (words[0], marks.tense), [*((word, marks.tense if word != "to" else 0) for word in words[1:]), base]
    first, *others = clause.modal.english.split()
    auxiliary, group = _tensed(
        clause.tense, english_forms(first), clause.subject, verb=marks.tense, tense=marks.tense, supported=supported
    )
    return auxiliary, [*group, *((word, marks.tense if word != "to" else 0) for word in others), base]


def _tensed(
    name: Tense, forms: EnglishForms, subject: Referent, *, verb: int, tense: int, supported: bool
) -> tuple[Token | None, list[Token]]:
    person = english_person(subject)
    if name in _COMPOUND:
        auxiliaries, between, form = _COMPOUND[name]
        group = [(word, tense if word != "to" else 0) for word in between]
        return (auxiliaries[person], tense), [*group, (getattr(forms, form), verb)]
    if name == "used to":
        used = [("use" if supported else "used", tense), ("to", 0), (forms.base, verb)]
        return ("did", tense) if supported else None, used
    if name == "imperative":
        return None, [(forms.base, verb | tense)]
    if name == "let us":
        return None, [("let's", tense), (forms.base, verb | tense)]
    return _simple(forms, person, verb=verb, tense=tense, past=name != "present", supported=supported)


def _simple(
    forms: EnglishForms, person: int, *, verb: int, tense: int, past: bool, supported: bool
) -> tuple[Token | None, list[Token]]:
    """The simple present and past: do-support in questions and negations, none for be."""
    both = verb | tense
    if forms.base == "be":
        return ((BE_PAST if past else BE_PRESENT)[person], both), []
    if supported and past:
        return ("did", tense), [(forms.base, verb)]
    if supported:
        return ("does" if person == 2 else "do", 0), [(forms.base, both)]
    plain = forms.past if past else forms.third if person == 2 else forms.base
    return None, [(plain, both)]


def _complements(clause: Clause, parts: Parts) -> list[Token]:
    direct = _object(clause.direct, parts.direct.english)
    indirect = _object(clause.indirect, parts.indirect.english)
    if clause.verb.english_preposition:
        mark = parts.preposition or parts.marks.verb
        if clause.verb.reflexive:  # look after, s'occuper de: one verb on both sides
            mark |= parts.marks.verb
        direct = [*((word, mark) for word in clause.verb.english_preposition.split()), *direct]
    shifted = isinstance(clause.indirect, Pronoun) and not isinstance(clause.direct, Pronoun)
    if indirect and shifted and clause.verb.english not in _WITHOUT_SHIFT:
        objects = indirect + direct
    elif indirect:
        objects = [*direct, ("to", parts.to), *indirect]
    else:
        objects = direct
    if clause.negation in _POLARITY_OBJECTS:
        objects = [*objects, (_POLARITY_OBJECTS[clause.negation], parts.marks.negator)]
    tail = parts.tail.english
    words = [*objects, *tail] if clause.direct is not None and not parts.tail.french else [*tail, *objects]
    words += parts.predicate.english
    if clause.negation in _LATE_NEGATORS:
        words.append((_LATE_NEGATORS[clause.negation], parts.marks.negator))
    return words


def _object(who: Referent | None, words: list[Token]) -> list[Token]:
    if isinstance(who, Pronoun):
        return [(who.english_object, words[0][1])]
    return words
