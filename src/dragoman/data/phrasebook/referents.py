"""Who and what sentences are about: pronouns, names, noun phrases; each knows its person, gender and number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from dragoman.data.phrasebook.words import Bitext, Pair, Token

if TYPE_CHECKING:
    from dragoman.data.phrasebook.derivation import Derivation
    from dragoman.data.phrasebook.entries import Adjective, Noun

_POSSESSIVES = {  # masculine, feminine, plural
    "my": ("mon", "MA", "mes"),
    "his": ("son", "SA", "ses"),
    "her": ("son", "SA", "ses"),
    "our": ("notre", "notre", "nos"),
    "their": ("leur", "leur", "leurs"),
}
_YOUR = {True: ("ton", "TA", "tes"), False: ("votre", "votre", "vos")}
_INFLECTED = {"beau": "BEAU", "nouveau": "NOUVEAU", "vieux": "VIEUX"}


@dataclass(frozen=True, slots=True)
class Pronoun:
    """A personal pronoun; persons are counted as in the verb tables."""

    english: str
    english_object: str
    possessive: str
    english_person: int
    french: str
    accusative: str
    dative: str
    reflexive: str
    tonic: str
    french_person: int
    feminine: bool = False
    plural: bool = False
    cues: tuple[str, ...] = ()


I = Pronoun("I", "me", "my", 0, "je", "me", "me", "me", "moi", 0, cues=("i", "me", "my"))
YOU = Pronoun("you", "you", "your", 1, "vous", "vous", "vous", "vous", "vous", 4, cues=("you", "you", "your"))
HE = Pronoun("he", "him", "his", 2, "il", "le", "lui", "se", "lui", 2, cues=("he", "him", "his"))
SHE = Pronoun("she", "her", "her", 2, "elle", "la", "lui", "se", "elle", 2, feminine=True, cues=("she", "her", "her"))
WE = Pronoun("we", "us", "our", 1, "nous", "nous", "nous", "nous", "nous", 3, plural=True, cues=("we", "us", "our"))
THEY = Pronoun(
    "they", "them", "their", 1, "ils", "les", "leur", "se", "eux", 5, plural=True, cues=("they", "them", "their")
)
PRONOUNS = (I, YOU, HE, SHE, WE, THEY)


@dataclass(frozen=True, slots=True)
class Name:
    """A person called by a first name."""

    english: str
    feminine: bool
    cues: tuple[str, ...] = ()
    plural: bool = False


@dataclass(frozen=True, slots=True)
class Couple:
    """Two people called by their first names."""

    first: Name
    second: Name


@dataclass(frozen=True, slots=True)
class Fixed:
    """Somebody or something given as a ready piece: `everybody`, `someone`."""

    piece: Bitext
    feminine: bool = False
    plural: bool = False
    negative: bool = False
    cues: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A noun with its determiner: the, a, some, bare, generic, this, none, or a possessive; `count` is a numeral."""

    noun: Noun
    determiner: str = "the"
    plural: bool = False
    adjectives: tuple[Adjective, ...] = ()
    count: Bitext | None = None
    apposition: Name | None = None

    @property
    def feminine(self) -> bool:
        """The French gender."""
        return self.noun.feminine


Referent = Pronoun | Name | Couple | Fixed | NounPhrase


def resolved(who: Referent, work: Derivation) -> Referent:
    """The same referent, with *you* as the address asks: vous to one, vous to several, or tu."""
    if who is not YOU or work.address.vocative is None:
        return who
    address = work.address
    if address.familiar:
        return Pronoun("you", "you", "your", 1, "tu", "te", "te", "te", "toi", 1, feminine=address.feminine)
    return Pronoun(
        "you",
        "you",
        "your",
        1,
        "vous",
        "vous",
        "vous",
        "vous",
        "vous",
        4,
        feminine=address.feminine,
        plural=address.plural,
    )


def english_person(who: Referent) -> int:
    """0 for I, 1 for you and plurals, 2 for the rest."""
    if isinstance(who, Pronoun):
        return who.english_person
    return 1 if is_plural(who) else 2


def french_person(who: Referent) -> int:
    """0 to 5: je, tu, il, nous, vous, ils."""
    if isinstance(who, Pronoun):
        return who.french_person
    return 5 if is_plural(who) else 2


def is_plural(who: Referent) -> bool:
    """True for what counts as several."""
    return True if isinstance(who, Couple) else who.plural


def is_feminine(who: Referent) -> bool:
    """The gender that French words agree with; the masculine wherever English leaves it open."""
    return who.first.feminine and who.second.feminine if isinstance(who, Couple) else who.feminine


def young(who: Referent) -> bool:
    """True for the child, the boy, the girls."""
    return isinstance(who, NounPhrase) and who.noun.kind == "person" and who.noun.name in ("child", "boy", "girl")


def possessive(who: Referent) -> str:
    """The English possessive that points back to somebody."""
    if isinstance(who, Pronoun):
        return who.possessive
    if is_plural(who):
        return "their"
    return "her" if is_feminine(who) else "his"


def naming(who: Referent, work: Derivation, *, negated: bool = False, questioned: bool = False) -> Pair:
    """The referent as a full phrase (a pronoun in its subject form)."""
    match who:
        case Pronoun():
            mark = work.mark()
            return Pair([(who.english, mark)], [(who.french, mark)])
        case Name():
            mark = work.mark()
            return Pair([(who.english, mark)], [(who.english, mark)])
        case Couple():
            first, second, both = naming(who.first, work), naming(who.second, work), work.mark()
            return first + Pair([("and", both)], [("et", both)]) + second
        case Fixed():
            return work.place(who.piece)
        case NounPhrase():
            return _noun_phrase(who, work, negated=negated, questioned=questioned)
        case _:
            assert_never(who)


def after_preposition(who: Referent, work: Derivation) -> Pair:
    """The referent as it stands after a preposition: with me, avec moi."""
    if isinstance(who, Pronoun):
        mark = work.mark()
        return Pair([(who.english_object, mark)], [(who.tonic, mark)])
    return naming(who, work)


def _noun_phrase(phrase: NounPhrase, work: Derivation, *, negated: bool, questioned: bool) -> Pair:
    noun = work.place(phrase.noun.plural if phrase.plural else phrase.noun.singular)
    before: list[Token] = []
    after: list[Token] = []
    english: list[Token] = []
    for adjective in phrase.adjectives:
        mark = work.mark()
        work.combine(adjective.name, phrase.noun.name)
        english.append((adjective.english, mark))
        form = adjective.french(feminine=phrase.noun.feminine, plural=phrase.plural)
        (before if adjective.before else after).append((_INFLECTED.get(form, form), mark))
    count = work.place(phrase.count) if phrase.count else Pair([], [])
    determiner = _determiner(phrase, work, negated=negated, questioned=questioned, preceded=bool(before))
    whole = Pair(
        determiner.english + count.english + english + noun.english,
        determiner.french + count.french + before + noun.french + after,
    )
    return whole + naming(phrase.apposition, work) if phrase.apposition else whole


def _determiner(phrase: NounPhrase, work: Derivation, *, negated: bool, questioned: bool, preceded: bool) -> Pair:
    mark = work.mark()
    feminine, plural = phrase.noun.feminine, phrase.plural
    article = "LES" if plural else "la" if feminine else "LE"
    form = 2 if plural else feminine
    match phrase.determiner:
        case "the":
            return Pair([("the", mark)], [(article, mark)])
        case "generic":
            return Pair([], [(article, 0)])
        case "none":
            return Pair([], [])
        case "a":
            return Pair([("a", mark)], [("de" if negated else "une" if feminine else "un", mark)])
        case "some" | "bare" as kind:
            english = [] if kind == "bare" else [("any" if negated or questioned else "some", mark)]
            return Pair(
                english, _partitive(phrase, mark if english else 0, article, short=negated or (preceded and plural))
            )
        case "this":
            demonstrative = "ces" if plural else "cette" if feminine else "CE"
            return Pair([("these" if plural else "this", mark)], [(demonstrative, mark)])
        case "your":
            return Pair([("your", mark)], [(_YOUR[work.address.familiar][form], mark)])
        case other:
            return Pair([(other, mark)], [(_POSSESSIVES[other][form], mark)])


def _partitive(phrase: NounPhrase, mark: int, article: str, *, short: bool) -> list[Token]:
    """Du, de la, des: some of it; a bare de after a negation, and before an adjective in the plural."""
    if short:
        return [("de", mark)]
    return [("des", mark)] if phrase.plural else [("de", mark), (article, mark)]
