"""The French side of a clause: tenses, clitics in their order, negation around the verb, agreement of participles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.data.phrasebook import french_verbs
from dragoman.data.phrasebook.referents import Pronoun, Referent, french_person, is_feminine, is_plural

if TYPE_CHECKING:
    from dragoman.data.phrasebook.tree import Clause, Parts
    from dragoman.data.phrasebook.words import Token

_NEGATORS = {"not": "pas", "never": "jamais", "no longer": "plus", "not yet": "pas", "nothing": "rien"}
_INVERTING = frozenset(["être", "avoir", "pouvoir", "vouloir"])
_ORDER = ("me", "te", "se", "nous", "vous", "le", "la", "les", "lui", "leur", "y", "en")
_IMPERATIVE_ORDER = ("le", "la", "les", "moi", "toi", "nous", "vous", "lui", "leur", "y", "en")
_STRONG = {"me": "moi", "te": "toi"}
_SIMPLE = {
    "present": french_verbs.present,
    "progressive": french_verbs.present,
    "lasting": french_verbs.present,
    "imperfect": french_verbs.imperfect,
    "was doing": french_verbs.imperfect,
    "used to": french_verbs.imperfect,
    "future": french_verbs.future,
    "conditional": french_verbs.conditional,
}


def arranged(clause: Clause, parts: Parts) -> list[Token]:
    """The French words of the clause."""
    if clause.tense in ("imperative", "let us"):
        return _imperative(clause, parts)
    finite, middle, infinitive = _verb_group(clause, parts)
    clitics = _clitics(clause, parts)
    inner = [*clitics, *infinitive] if infinitive else []
    outer = [] if infinitive else clitics
    negation = parts.marks.negation
    before = [("ne", negation)] if clause.negation else []
    opened = list(clause.fronted.french) if clause.fronted else []
    subject = parts.subject.french
    if _inverts(clause):
        pronoun = ("-" + subject[0][0], subject[0][1])
        core = [*opened, *before, *outer, finite, pronoun]
    else:
        asked = [("est", 0), ("-ce", 0), ("que", 0)] if clause.question else []
        core = [*opened, *asked, *subject, *before, *outer, finite]
    return [*core, *_negators(clause, parts), *parts.adverb.french, *middle, *inner, *_complements(clause, parts)]


def _inverts(clause: Clause) -> bool:
    """Fixed polite questions: Avez-vous, Êtes-vous, Pourriez-vous, Voulez-vous."""
    if not clause.question or not isinstance(clause.subject, Pronoun) or clause.subject.french != "vous":
        return False
    if clause.verb.reflexive:
        return False
    head, tense = (
        (clause.modal.french, clause.modal.french_tense) if clause.modal else (clause.verb.french, clause.tense)
    )
    return head in _INVERTING and tense in ("present", "conditional") and clause.tense in ("present", "conditional")


def _negators(clause: Clause, parts: Parts) -> list[Token]:
    if clause.negation not in _NEGATORS:
        return []
    words = [(_NEGATORS[clause.negation], parts.marks.negator)]
    return [*words, ("encore", parts.marks.negator)] if clause.negation == "not yet" else words


def _verb_group(clause: Clause, parts: Parts) -> tuple[Token, list[Token], list[Token]]:
    """The finite verb; a participle that follows it; an infinitive, before which the clitics stand."""
    marks = parts.marks
    person = french_person(clause.subject)
    lexical = clause.verb.french
    if clause.modal:
        finite = _SIMPLE[clause.modal.french_tense](clause.modal.french)[person]
        return (finite, marks.tense), [], [(lexical, marks.verb)]
    if clause.tense == "going to":
        return (french_verbs.present("aller")[person], marks.tense), [], [(lexical, marks.verb)]
    if clause.tense in ("past", "perfect"):
        helper = "être" if clause.verb.reflexive else french_verbs.auxiliary(lexical)
        participle = _participle(clause, helper)
        return (french_verbs.present(helper)[person], marks.tense), [(participle, marks.verb)], []
    return (_SIMPLE[clause.tense](lexical)[person], marks.verb | marks.tense), [], []


def _participle(clause: Clause, helper: str) -> str:
    """The participle: agrees with the subject after être, after avoir with a direct object that stands before it."""
    plain = french_verbs.participle(clause.verb.french)
    source: Referent | None = None
    if helper == "être":
        tail = clause.verb.tail
        own = clause.verb.reflexive and (
            (clause.direct and not clause.verb.french_preposition) or (tail and tail.french)
        )
        source = None if own else clause.subject
    elif isinstance(clause.direct, Pronoun) and not clause.verb.french_preposition:
        source = clause.direct
    elif clause.agrees_with is not None:
        source = clause.agrees_with
    if source is None:
        return plain
    return french_verbs.agreed(plain, feminine=is_feminine(source), plural=is_plural(source))


def _clitics(clause: Clause, parts: Parts) -> list[Token]:
    """The unstressed pronouns before the verb, in their order."""
    found: list[Token] = []
    if clause.verb.reflexive:
        own = clause.subject.reflexive if isinstance(clause.subject, Pronoun) else "se"
        unsaid = clause.tense in ("imperative", "let us")  # there the English verb alone says who
        found.append((own, parts.marks.verb if unsaid else parts.subject.french[0][1]))
    if isinstance(clause.direct, Pronoun):
        form = clause.direct.dative if clause.verb.french_preposition == "à" else clause.direct.accusative
        found.append((form, parts.direct.french[0][1]))
    if isinstance(clause.indirect, Pronoun):
        found.append((clause.indirect.dative, parts.indirect.french[0][1]))
    return sorted(found, key=lambda token: _ORDER.index(token[0])) if len(found) > 1 else found


def _imperative(clause: Clause, parts: Parts) -> list[Token]:
    marks = parts.marks
    mood = french_verbs.imperative(clause.verb.french)
    person = 1 if clause.tense == "let us" else 0 if french_person(clause.subject) == 1 else 2
    verb = (mood[person], marks.verb | marks.tense)
    own = Pronoun("", "", "", 1, "nous", "nous", "nous", "nous", "nous", 3) if person == 1 else clause.subject
    clitics = [
        (own.reflexive if isinstance(own, Pronoun) and word == "se" else word, mark)
        for word, mark in _clitics(clause, parts)
    ]
    if clause.negation:
        group = [("ne", marks.negation), *clitics, verb, *_negators(clause, parts)]
    else:
        strong = [(_STRONG.get(word, word), mark) for word, mark in clitics]
        strong.sort(key=lambda token: _IMPERATIVE_ORDER.index(token[0]))
        group = [verb, *(("-" + word, mark) for word, mark in strong)]
    return [*group, *parts.adverb.french, *_complements(clause, parts)]


def _complements(clause: Clause, parts: Parts) -> list[Token]:
    words = _without_partitive(parts.tail.french) if clause.negation else list(parts.tail.french)
    if clause.direct is not None and not isinstance(clause.direct, Pronoun):
        link = clause.verb.french_preposition
        words += [*([(link, parts.preposition)] if link else []), *parts.direct.french]
    if clause.negation == "nobody":
        link = clause.verb.french_preposition
        words += [*([(link, 0)] if link else []), ("personne", parts.marks.negator)]
    if clause.indirect is not None and not isinstance(clause.indirect, Pronoun):
        words += [("à", parts.to), *parts.indirect.french]
    return words + parts.predicate.french


def _without_partitive(tail: list[Token]) -> list[Token]:
    """The tail under a negation: du vélo becomes de vélo, de la musique becomes de musique."""
    if not tail or tail[0][0] not in ("du", "des", "de"):
        return list(tail)
    rest = tail[2:] if len(tail) > 1 and tail[1][0] in ("la", "l'") else tail[1:]
    return [("de", tail[0][1]), *rest]
