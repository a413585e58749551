"""Names, forms of address, professions, nationalities, towns and countries."""

# ruff: noqa: E501 - tables of words read best with one group to a line

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from dragoman.data.phrasebook.derivation import Address
from dragoman.data.phrasebook.entries import feminine, french_plural
from dragoman.data.phrasebook.referents import Fixed, Name
from dragoman.data.phrasebook.words import Bitext, bitext

_WOMEN = "Marie Anne Julie Claire Sophie Alice Emma Louise Nina Sarah"
_MEN = "Paul Thomas Nicolas Lucas Hugo Pierre Louis Martin David Victor"
_PROFESSIONS = """doctor=médecin; teacher=professeur; nurse=infirmier infirmière; lawyer=avocat; engineer=ingénieur;
    baker=boulanger boulangère; cook=cuisinier cuisinière; student=étudiant; journalist=journaliste; architect=architecte;
    farmer=agriculteur agricultrice; musician=musicien; singer=chanteur chanteuse; actor=acteur; actress=actrice;
    dentist=dentiste; photographer=photographe; hairdresser=coiffeur coiffeuse; secretary=secrétaire; writer=écrivain;
    salesman=vendeur; saleswoman=vendeuse; translator=traducteur traductrice; mechanic=mécanicien; pilot=pilote;
    plumber=plombier; librarian=bibliothécaire; accountant=comptable; gardener=jardinier jardinière; waiter=serveur; waitress=serveuse"""
_NATIONALITIES = """French=français; English=anglais; Spanish=espagnol; Italian=italien; German=allemand; Japanese=japonais;
    Chinese=chinois; Portuguese=portugais; Canadian=canadien; American=américain; Belgian=belge; Swiss=suisse; Dutch=néerlandais;
    Irish=irlandais; Scottish=écossais; Brazilian=brésilien; Greek=grec; Moroccan=marocain"""
_ONLY_MEN = frozenset(["actor", "salesman", "waiter"])
_ONLY_WOMEN = frozenset(["actress", "saleswoman", "waitress"])
_TOWNS = """Paris=Paris; London=Londres; Lyon=Lyon; Rome=Rome; Geneva=Genève; Brussels=Bruxelles; Marseille=Marseille;
    Lisbon=Lisbonne; Nice=Nice; Berlin=Berlin; Vienna=Vienne; Barcelona=Barcelone; Montreal=Montréal; New/1 York/1=New/1 York/1;
    Toulouse=Toulouse; Venice=Venise; Athens=Athènes; Edinburgh=Édimbourg; Amsterdam=Amsterdam; Dublin=Dublin; Bordeaux=Bordeaux"""
_COUNTRIES = """France=France f; Italy=Italie f; Spain=Espagne f; Germany=Allemagne f; Switzerland=Suisse f; Belgium=Belgique f;
    England=Angleterre f; Greece=Grèce f; Scotland=Écosse f; Ireland=Irlande f; China=Chine f; Norway=Norvège f;
    Japan=Japon m; Canada=Canada m; Portugal=Portugal m; Brazil=Brésil m; Morocco=Maroc m; Mexico=Mexique m;
    the/2 United/1 States/1=États-Unis/1 p; the/2 Netherlands/1=Pays-Bas/1 p"""


@dataclass(frozen=True, slots=True)
class Role:
    """A profession or nationality, in both genders."""

    english: str
    masculine: str
    feminine: str
    cues: tuple[str, ...]

    def suits(self, *, feminine: bool) -> bool:
        """False for an actress who is a man."""
        return self.english not in (_ONLY_MEN if feminine else _ONLY_WOMEN)

    def french(self, *, feminine: bool, plural: bool) -> str:
        """The French form."""
        form = self.feminine if feminine else self.masculine
        return french_plural(form) if plural else form


@dataclass(frozen=True, slots=True)
class Spot:
    """A town or country: where one is or goes, and where one comes from."""

    name: str
    bare: Bitext
    inside: Bitext
    towards: Bitext
    from_there: Bitext
    cues: tuple[str, ...]


def _role(entry: str) -> Role:
    english, _, french = entry.strip().partition("=")
    masculine, _, given = french.partition(" ")
    exact = {"professeur": "professeure", "écrivain": "écrivaine", "ingénieur": "ingénieure", "acteur": "actrice"}
    same = masculine == "médecin"
    return Role(
        english,
        masculine,
        masculine if same else given or exact.get(masculine) or feminine(masculine),
        (english.lower(),),
    )


@cache
def professions() -> tuple[Role, ...]:
    """What people do for a living."""
    return tuple(_role(entry) for entry in _PROFESSIONS.split(";"))


@cache
def nationalities() -> tuple[Role, ...]:
    """Where people come from, as adjectives."""
    return tuple(_role(entry) for entry in _NATIONALITIES.split(";"))


@cache
def names() -> tuple[Name, ...]:
    """First names."""
    women = tuple(Name(name, feminine=True, cues=(name.lower(),)) for name in _WOMEN.split())
    return women + tuple(Name(name, feminine=False, cues=(name.lower(),)) for name in _MEN.split())


@cache
def everybody() -> tuple[Fixed, ...]:
    """Subjects that name nobody in particular."""
    return (
        Fixed(bitext("everybody", "tout le monde"), cues=("everybody",)),
        Fixed(bitext("someone", "quelqu' un"), cues=("someone",)),
    )


@cache
def addresses() -> tuple[Address, ...]:
    """Who may be spoken to: a first name asks for tu, a title for vous."""
    familiar = tuple(
        Address(bitext(f"{name.english}/1", f"{name.english}/1"), familiar=True, feminine=name.feminine, cues=name.cues)
        for name in names()
    )
    kin = (
        Address(bitext("Mum/1", "maman/1"), familiar=True, feminine=True, cues=("mum",)),
        Address(bitext("Dad/1", "papa/1"), familiar=True, cues=("dad",)),
    )
    titles = (
        Address(bitext("sir/1", "monsieur/1"), cues=("sir",)),
        Address(bitext("madam/1", "madame/1"), feminine=True, cues=("madam",)),
    )
    return (*familiar, *kin, *titles, *titles)


CHILDREN = Address(bitext("children/1", "les enfants/1"), plural=True, cues=("children",))


@cache
def towns() -> tuple[Spot, ...]:
    """Towns: à Paris, de Paris."""
    spots = []
    for entry in _TOWNS.split(";"):
        english, _, french = entry.strip().partition("=")
        if "/" not in entry:
            english, french = english + "/1", french + "/1"
        inner = [side.replace("/1", "/2") for side in (english, french)]
        spots.append(
            Spot(
                english.replace("/1", ""),
                bitext(english, french),
                bitext(f"in/1 {inner[0]}", f"à/1 {inner[1]}"),
                bitext(f"to/1 {inner[0]}", f"à/1 {inner[1]}"),
                bitext(f"from/1 {inner[0]}", f"de/1 {inner[1]}"),
                (english.replace("/1", "").lower(),),
            )
        )
    return tuple(spots)


@cache
def countries() -> tuple[Spot, ...]:
    """Countries: en France, au Japon, aux États-Unis; de France, du Japon, des États-Unis."""
    spots = []
    for entry in _COUNTRIES.split(";"):
        english, _, french = entry.strip().partition("=")
        french, gender = french.rsplit(" ", 1)
        if "/" not in entry:
            english, french = english + "/1", french + "/1"
        marked_english, marked_french = english.replace("/2", "/3").replace("/1", "/2"), french.replace("/1", "/2")
        vowel = french[0] in "AEIÉ"
        article = "la/3" if gender == "f" else "LE/3" if gender == "m" else "LES/3"
        inside = "en/1" if gender == "f" or (gender == "m" and vowel) else "à/1 " + article
        origin = "de/1" if gender == "f" else "de/1 " + article
        spots.append(
            Spot(
                " ".join(word.partition("/")[0] for word in english.split()),
                bitext(marked_english, f"{article} {marked_french}"),
                bitext(f"in/1 {marked_english}", f"{inside} {marked_french}"),
                bitext(f"to/1 {marked_english}", f"{inside} {marked_french}"),
                bitext(f"from/1 {marked_english}", f"{origin} {marked_french}"),
                (" ".join(word.partition("/")[0] for word in english.split()).lower(),),
            )
        )
    return tuple(spots)
