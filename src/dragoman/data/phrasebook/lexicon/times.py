"""When, where, how often: adverbials, hours, days, months and numerals."""

# ruff: noqa: E501 - tables of words read best with one group to a line

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from dragoman.data.phrasebook.words import Bitext, Pair, bitext


@dataclass(frozen=True, slots=True)
class Adverbial:
    """A fixed adverbial in both languages."""

    piece: Bitext
    cues: tuple[str, ...]


def _cue(english: str) -> str:
    return " ".join(word.partition("/")[0] for word in english.split() if not word.startswith("{")).lower()


def read_adverbials(table: str) -> tuple[Adverbial, ...]:
    """The adverbials of a table `english=french; ...`."""
    read = []
    for entry in table.split(";"):
        english, _, french = entry.strip().partition("=")
        read.append(Adverbial(bitext(english, french), (_cue(english),)))
    return tuple(read)


_TIMES = {
    "now": "now=maintenant; at/1 the/1 moment/1=en/1 ce/1 moment/1; today=aujourd'hui",
    "habit": """every/1 day/2=tous/1 les jours/2; every/1 morning/2=tous/1 les matins/2; every/1 evening/2=tous/1 les soirs/2;
        every/1 week/2=toutes/1 les semaines/2; on Mondays/1=le lundi/1; on Sundays/1=le dimanche/1;
        at the weekend/1=le week-end/1; on Fridays/1=le vendredi/1; in the evening/1=le soir/1;
        twice/1 a/2 week/3=deux/1 fois/1 par/2 semaine/3; once/1 a/2 month/3=une/1 fois/1 par/2 mois/3""",
    "past": """yesterday=hier; last/1 night/2=hier/1 soir/2; this/1 morning/2=ce/1 matin/2; yesterday/1 morning/2=hier/1 matin/2;
        last/1 Saturday/2=samedi/2 dernier/1; two/1 days/2 ago/3=il/3 y/3 a/3 deux/1 jours/2; last/1 Sunday/2=dimanche/2 dernier/1;
        last/1 Monday/2=lundi/2 dernier/1; yesterday/1 afternoon/2=hier/1 après-midi/2; last/1 week/2=la semaine/2 dernière/1""",
    "remote": """last/1 week/2=la semaine/2 dernière/1; last/1 month/2=le mois/2 dernier/1; last/1 year/2=l' année/2 dernière/1;
        three/1 weeks/2 ago/3=il/3 y/3 a/3 trois/1 semaines/2; last/1 summer/2=l' été/2 dernier/1; yesterday=hier;
        two/1 months/2 ago/3=il/3 y/3 a/3 deux/1 mois/2; last/1 Saturday/2=samedi/2 dernier/1; two/1 years/2 ago/3=il/3 y/3 a/3 deux/1 ans/2;
        last/1 winter/2=l' hiver/2 dernier/1""",
    "future": """tomorrow=demain; tonight=ce soir; this/1 weekend/2=ce/1 week-end/2; tomorrow/1 morning/2=demain/1 matin/2;
        on Monday/1=lundi/1; next/1 Saturday/2=samedi/2 prochain/1; this/1 evening/2=ce/1 soir/2;
        on Friday/1=vendredi/1; on/1 Saturday/2 evening/3=samedi/2 soir/3; tomorrow/1 evening/2=demain/1 soir/2;
        this/1 afternoon/2=cet/1 après-midi/2; on Wednesday/1=mercredi/1""",
    "distant": """next/1 week/2=la semaine/2 prochaine/1; next/1 month/2=le mois/2 prochain/1; next/1 year/2=l' année/2 prochaine/1;
        in/1 two/2 days/3=dans/1 deux/2 jours/3; in/1 three/2 weeks/3=dans/1 trois/2 semaines/3; next/1 summer/2=l' été/2 prochain/1; in/1 a/2 few/2 months/3=dans/1 quelques/2 mois/3; next/1 winter/2=l' hiver/2 prochain/1""",
    "mid": "often=souvent; sometimes=parfois; always=toujours; rarely=rarement",
}
ALREADY = bitext("already", "déjà")
ALWAYS = bitext("always", "toujours")
_PLACES = {
    "eat": """at/1 the/2 restaurant/3=au/1,2 restaurant/3; in/1 the/2 kitchen/3=dans/1 la/2 cuisine/3; at/1 home/2=à/1 la maison/2;
        in/1 the/2 garden/3=dans/1 le/2 jardin/3; at/1 the/2 café/3=au/1,2 café/3; on/1 the/2 terrace/3=sur/1 la/2 terrasse/3""",
    "drink": """at/1 the/2 café/3=au/1,2 café/3; in/1 the/2 kitchen/3=dans/1 la/2 cuisine/3; on/1 the/2 terrace/3=sur/1 la/2 terrasse/3;
        at/1 the/2 bar/3=au/1,2 bar/3; in/1 the/2 garden/3=dans/1 le/2 jardin/3""",
    "shop": """at/1 the/2 market/3=au/1,2 marché/3; at/1 the/2 supermarket/3=au/1,2 supermarché/3; in/1 town/2=en/1 ville/2""",
    "boutique": """in/1 the/2 shop/3=dans/1 le/2 magasin/3""",
    "read": """in/1 the/2 living/3 room/3=dans/1 le/2 salon/3; in/1 the/2 garden/3=dans/1 le/2 jardin/3; on/1 the/2 train/3=dans/1 le/2 train/3;
        at/1 the/2 library/3=à/1 la/2 bibliothèque/3; in/1 bed/2=au/1 lit/2; at/1 home/2=à/1 la maison/2""",
    "home": """at/1 home/2=à/1 la maison/2; in/1 the/2 living/3 room/3=dans/1 le/2 salon/3; in/1 the/2 bedroom/3=dans/1 la/2 chambre/3""",
    "rest": "at/1 home/2=à/1 la maison/2; in/1 the/2 garden/3=dans/1 le/2 jardin/3; on/1 the/2 beach/3=sur/1 la/2 plage/3",
    "kitchen": "in/1 the/2 kitchen/3=dans/1 la/2 cuisine/3",
    "street": """in/1 the/2 street/3=dans/1 la/2 rue/3; outside/1 the/2 station/3=devant/1 la/2 gare/3; in/1 the/2 park/3=dans/1 le/2 parc/3""",
    "kerb": """in/1 the/2 street/3=dans/1 la/2 rue/3; outside/1 the/2 station/3=devant/1 la/2 gare/3; outside/1 the/2 hotel/3=devant/1 l'/2 hôtel/3;
        in/1 the/2 car/3 park/3=sur/1 le/2 parking/3""",
    "restaurant": "at/1 the/2 restaurant/3=au/1,2 restaurant/3",
    "holiday": "in/1 the/2 mountains/3=à/1 la/2 montagne/3; by/1 the/2 sea/3=au/1,2 bord/1 de la mer/3",
    "hotel": "at/1 the/2 hotel/3=à/1 l'/2 hôtel/3",
    "stop": """at/1 the/2 station/3=à/1 la/2 gare/3; outside/1 the/2 school/3=devant/1 l'/2 école/3""",
    "sleep": """in/1 the/2 bedroom/3=dans/1 la/2 chambre/3; on/1 the/2 sofa/3=sur/1 le/2 canapé/3""",
    "work": """at/1 home/2=à/1 la maison/2; at/1 the/2 hospital/3=à/1 l'/2 hôpital/3; in/1 an/2 office/3=dans/1 un/2 bureau/3;
        in/1 town/2=en/1 ville/2; in/1 a/2 restaurant/3=dans/1 un/2 restaurant/3; in/1 the/2 garden/3=dans/1 le/2 jardin/3""",
    "park": """in/1 the/2 park/3=dans/1 le/2 parc/3; on/1 the/2 beach/3=sur/1 la/2 plage/3""",
    "swim": """at/1 the/2 swimming/3 pool/3=à/1 la/2 piscine/3; in/1 the/2 sea/3=dans/1 la/2 mer/3; in/1 the/2 lake/3=dans/1 le/2 lac/3""",
    "night": "at/1 the/2 party/3=à/1 la/2 fête/3; in/1 the/2 street/3=dans/1 la/2 rue/3",
    "party": "at/1 the/2 party/3=à/1 la/2 fête/3; in/1 the/2 park/3=dans/1 le/2 parc/3",
    "travel": "by/1 train/2=en/1 train/2; by/1 car/2=en/1 voiture/2; in/1 Europe/2=en/1 Europe/2; by/1 plane/2=en/1 avion/2",
    "study": "at/1 university/2=à/1 l' université/2; at/1 school/2=à/1 l' école/2",
    "town": "in/1 town/2=en/1 ville/2",
    "sights": "in/1 the/2 old/3 town/4=dans/1 la/2 vieille/3 ville/4; on/1 the/2 beach/3=sur/1 la/2 plage/3",
}
_NUMBERS = [
    "un",
    "deux",
    "trois",
    "quatre",
    "cinq",
    "six",
    "sept",
    "huit",
    "neuf",
    "dix",
    "onze",
    "douze",
    "treize",
    "quatorze",
    "quinze",
    "seize",
    "dix-sept",
    "dix-huit",
    "dix-neuf",
    "vingt",
]
_ENGLISH_NUMBERS = [
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
]
_ENGLISH_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_FRENCH_TENS = ["vingt", "trente", "quarante", "cinquante", "soixante", "soixante", "quatre-vingt", "quatre-vingt"]
_DAYS = """Monday=lundi; Tuesday=mardi; Wednesday=mercredi; Thursday=jeudi; Friday=vendredi; Saturday=samedi; Sunday=dimanche"""
_MONTHS = """January=janvier; February=février; March=mars; April=avril; May=mai; June=juin; July=juillet; August=août;
    September=septembre; October=octobre; November=novembre; December=décembre"""
_ORDINALS = "first=premier; second=deuxième; third=troisième; fourth=quatrième"


@dataclass(frozen=True, slots=True)
class Numeral:
    """A cardinal number in words."""

    value: int
    english: str
    french: str
    cues: tuple[str, ...]

    def piece(self, *, feminine: bool = False) -> Bitext:
        """The numeral, with the feminine of un where it ends in it."""
        french = (
            self.french + "e"
            if feminine and (self.french == "un" or self.french.endswith(("-un", " un")))
            else self.french
        )
        return bitext(self.english, french)


def english_number(value: int) -> str:
    """The number from 1 to 99 in English words."""
    if value <= 20:
        return _ENGLISH_NUMBERS[value - 1]
    tens, ones = divmod(value, 10)
    return _ENGLISH_TENS[tens - 2] + (f"-{_ENGLISH_NUMBERS[ones - 1]}" if ones else "")


def french_number(value: int) -> str:
    """The number from 1 to 99 in French words."""
    if value <= 20:
        return _NUMBERS[value - 1]
    tens, ones = divmod(value, 10)
    stem = _FRENCH_TENS[tens - 2]
    if tens in (7, 9):
        ones += 10
    if ones == 0:
        return stem + "s" if value == 80 else stem
    joint = " et " if ones in (1, 11) and tens < 8 else "-"
    return f"{stem}{joint}{_NUMBERS[ones - 1]}"


@cache
def numerals(first: int, last: int) -> tuple[Numeral, ...]:
    """The cardinals of a range."""
    return tuple(
        Numeral(value, english_number(value), french_number(value), (english_number(value),))
        for value in range(first, last + 1)
    )


@cache
def times(group: str) -> tuple[Adverbial, ...]:
    """The adverbials of time of a group: now, habit, past, future, mid."""
    return read_adverbials(_TIMES[group])


def off(time: Bitext | Pair) -> bool:
    """True for two days ago and in three weeks: dates of what was done or will be, and not of what was not."""
    words = [word for word, _ in time.english]
    return words[-1:] == ["ago"] or words[:1] == ["in"]


@cache
def places(groups: tuple[str, ...]) -> tuple[Adverbial, ...]:
    """Where such things are done."""
    return tuple(entry for group in groups for entry in read_adverbials(_PLACES[group]))


@cache
def days() -> tuple[Adverbial, ...]:
    """The days of the week."""
    return read_adverbials(_DAYS)


@cache
def months() -> tuple[Adverbial, ...]:
    """The months."""
    return read_adverbials(_MONTHS)


@cache
def ordinals() -> tuple[Adverbial, ...]:
    """First to fourth, masculine."""
    return read_adverbials(_ORDINALS)


@cache
def clock(first: int, last: int) -> tuple[Adverbial, ...]:
    """The times of day around these hours, without a preposition: half past three, trois heures et demie."""
    found = []
    for hour in range(first, last + 1):
        following = hour % 12 + 1
        for english, french, shown in (
            (f"{english_number(hour)}/1 o'clock/2", "{hour}", hour),
            (f"half/1 past/1 {english_number(hour)}/2", "{hour} et/1 demie/1", hour),
            (f"quarter/1 past/1 {english_number(hour)}/2", "{hour} et/1 quart/1", hour),
            (f"quarter/1 to/1 {english_number(following)}/2", "{hour} moins/1 le/1 quart/1", following),
            (f"ten/1 past/1 {english_number(hour)}/2", "{hour} dix/1", hour),
            (f"twenty/1 to/1 {english_number(following)}/2", "{hour} moins/1 vingt/1", following),
        ):
            spoken = french.replace("{hour}", _hour(shown, english))
            found.append(
                Adverbial(bitext(english, spoken.replace("demie", "demi") if shown == 12 else spoken), (_cue(english),))
            )
    return tuple(found)


def _hour(hour: int, english: str) -> str:
    exact = "/2" if "past" in english or " to" in english else "/1"
    if hour == 12:
        return f"midi{exact}"
    if hour == 1:
        return f"une{exact} heure/2"
    return f"{french_number(hour)}{exact} heures/2"
