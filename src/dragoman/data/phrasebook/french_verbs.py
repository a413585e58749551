"""French verbs: every form the grammar needs, from rules for the regular ones and a table for the others.

Persons are counted 0 to 5: je, tu, il, nous, vous, ils.
"""

from __future__ import annotations

from functools import cache

_ENDINGS = {
    "present_er": ("e", "es", "e", "ons", "ez", "ent"),
    "present_ir": ("is", "is", "it", "issons", "issez", "issent"),
    "present_re": ("s", "s", "", "ons", "ez", "ent"),
    "imperfect": ("ais", "ais", "ait", "ions", "iez", "aient"),
    "future": ("ai", "as", "a", "ons", "ez", "ont"),
}
# infinitive: the present, the future stem, the past participle
_IRREGULAR = """
être: suis es est sommes êtes sont: ser: été
avoir: ai as a avons avez ont: aur: eu
aller: vais vas va allons allez vont: ir: allé
faire: fais fais fait faisons faites font: fer: fait
pouvoir: peux peux peut pouvons pouvez peuvent: pourr: pu
vouloir: veux veux veut voulons voulez veulent: voudr: voulu
devoir: dois dois doit devons devez doivent: devr: dû
savoir: sais sais sait savons savez savent: saur: su
venir: viens viens vient venons venez viennent: viendr: venu
tenir: tiens tiens tient tenons tenez tiennent: tiendr: tenu
prendre: prends prends prend prenons prenez prennent: prendr: pris
voir: vois vois voit voyons voyez voient: verr: vu
boire: bois bois boit buvons buvez boivent: boir: bu
mettre: mets mets met mettons mettez mettent: mettr: mis
dire: dis dis dit disons dites disent: dir: dit
écrire: écris écris écrit écrivons écrivez écrivent: écrir: écrit
lire: lis lis lit lisons lisez lisent: lir: lu
rire: ris ris rit rions riez rient: rir: ri
connaître: connais connais connaît connaissons connaissez connaissent: connaîtr: connu
partir: pars pars part partons partez partent: partir: parti
sortir: sors sors sort sortons sortez sortent: sortir: sorti
dormir: dors dors dort dormons dormez dorment: dormir: dormi
sentir: sens sens sent sentons sentez sentent: sentir: senti
servir: sers sers sert servons servez servent: servir: servi
ouvrir: ouvre ouvres ouvre ouvrons ouvrez ouvrent: ouvrir: ouvert
couvrir: couvre couvres couvre couvrons couvrez couvrent: couvrir: couvert
offrir: offre offres offre offrons offrez offrent: offrir: offert
courir: cours cours court courons courez courent: courr: couru
recevoir: reçois reçois reçoit recevons recevez reçoivent: recevr: reçu
conduire: conduis conduis conduit conduisons conduisez conduisent: conduir: conduit
construire: construis construis construit construisons construisez construisent: construir: construit
croire: crois crois croit croyons croyez croient: croir: cru
suivre: suis suis suit suivons suivez suivent: suivr: suivi
vivre: vis vis vit vivons vivez vivent: vivr: vécu
éteindre: éteins éteins éteint éteignons éteignez éteignent: éteindr: éteint
peindre: peins peins peint peignons peignez peignent: peindr: peint
battre: bats bats bat battons battez battent: battr: battu
mourir: meurs meurs meurt mourons mourez meurent: mourr: mort
naître: nais nais naît naissons naissez naissent: naîtr: né
plaire: plais plais plaît plaisons plaisez plaisent: plair: plu
pleuvoir: pleus pleus pleut pleuvons pleuvez pleuvent: pleuvr: plu
asseoir: assieds assieds assied asseyons asseyez asseyent: assiér: assis
envoyer: envoie envoies envoie envoyons envoyez envoient: enverr: envoyé
"""
_PREFIXED = {
    "revenir": "venir",
    "devenir": "venir",
    "appartenir": "tenir",
    "apprendre": "prendre",
    "comprendre": "prendre",
    "surprendre": "prendre",
    "permettre": "mettre",
    "promettre": "mettre",
    "découvrir": "couvrir",
    "revoir": "voir",
    "relire": "lire",
    "sourire": "rire",
    "reconnaître": "connaître",
    "repartir": "partir",
}
_IMPERATIVE = {  # tu, nous, vous
    "être": ("sois", "soyons", "soyez"),
    "avoir": ("aie", "ayons", "ayez"),
    "savoir": ("sache", "sachons", "sachez"),
    "vouloir": ("veuille", "voulons", "veuillez"),
}
_WITH_ETRE = frozenset(
    [
        "aller",
        "venir",
        "revenir",
        "devenir",
        "arriver",
        "partir",
        "repartir",
        "sortir",
        "entrer",
        "rentrer",
        "rester",
        "tomber",
        "monter",
        "descendre",
        "naître",
        "mourir",
        "retourner",
    ]
)
_DOUBLED = ("appeler", "rappeler", "jeter", "épeler")


@cache
def _irregular() -> dict[str, tuple[tuple[str, ...], str, str]]:
    table = {}
    for line in _IRREGULAR.strip().splitlines():
        infinitive, present, future, participle = line.split(": ")
        table[infinitive] = (tuple(present.split()), future, participle)
    for verb, model in _PREFIXED.items():
        prefix = verb[: -len(model)]
        present_, future_, participle_ = table[model]
        table[verb] = (tuple(prefix + form for form in present_), prefix + future_, prefix + participle_)
    return table


def auxiliary(infinitive: str) -> str:
    """The verb that forms the passé composé: être for motion and change of state, else avoir."""
    return "être" if infinitive in _WITH_ETRE else "avoir"


@cache
def present(infinitive: str) -> tuple[str, ...]:
    """The six forms of the present."""
    if infinitive in _irregular():
        return _irregular()[infinitive][0]
    stem, ending = infinitive[:-2], infinitive[-2:]
    if ending != "er":
        return tuple(stem + end for end in _ENDINGS[f"present_{ending}"])
    stressed = _stressed(infinitive)
    forms = [(stem if person in (3, 4) else stressed) + end for person, end in enumerate(_ENDINGS["present_er"])]
    forms[3] = _softened(stem, "o") + "ons"
    return tuple(forms)


@cache
def imperfect(infinitive: str) -> tuple[str, ...]:
    """The six forms of the imparfait."""
    stem = "ét" if infinitive == "être" else present(infinitive)[3].removesuffix("ons")
    plain = infinitive[:-2] if infinitive.endswith(("ger", "cer")) else stem
    return tuple((stem if end.startswith("a") else plain) + end for end in _ENDINGS["imperfect"])


@cache
def future(infinitive: str) -> tuple[str, ...]:
    """The six forms of the futur simple."""
    return tuple(_future_stem(infinitive) + end for end in _ENDINGS["future"])


@cache
def conditional(infinitive: str) -> tuple[str, ...]:
    """The six forms of the present conditional."""
    return tuple(_future_stem(infinitive) + end for end in _ENDINGS["imperfect"])


@cache
def imperative(infinitive: str) -> tuple[str, str, str]:
    """The imperative for tu, nous and vous."""
    if infinitive in _IMPERATIVE:
        return _IMPERATIVE[infinitive]
    _, tu, _, nous, vous, _ = present(infinitive)
    return tu.removesuffix("s") if tu.endswith("es") or infinitive == "aller" else tu, nous, vous


@cache
def participle(infinitive: str) -> str:
    """The past participle, masculine singular."""
    if infinitive in _irregular():
        return _irregular()[infinitive][2]
    return infinitive[:-2] + {"er": "é", "ir": "i", "re": "u"}[infinitive[-2:]]


def agreed(participle_: str, *, feminine: bool, plural: bool) -> str:
    """The past participle with the ending of what it agrees with."""
    if participle_ == "dû" and (feminine or plural):
        participle_ = "du"
    form = participle_ + "e" * feminine
    return form + "s" if plural and not form.endswith("s") else form


def _future_stem(infinitive: str) -> str:
    if infinitive in _irregular():
        return _irregular()[infinitive][1]
    if infinitive.endswith("er"):
        stressed = _stressed(infinitive)
        # préférer keeps its é here: only a mute e changes
        keeps = infinitive[:-2] if "é" in infinitive[-5:-2] else stressed
        return keeps + "er"
    return infinitive.removesuffix("e")


def _stressed(infinitive: str) -> str:
    """The stem of a verb in -er before a mute ending."""
    stem = infinitive[:-2]
    if infinitive in _DOUBLED:
        return stem + stem[-1]
    if stem.endswith(("oy", "uy", "ay")):
        return stem[:-1] + "i"
    for length in (2, 3):  # one consonant, or a pair such as gl
        vowel = stem[-length]
        between = stem[len(stem) - length + 1 :]
        if (
            vowel in "eé"
            and (len(between) == 1 or between in ("br", "cr", "gn", "vr", "gl"))
            and not _is_vowel(between[0])
        ):
            return stem[:-length] + "è" + between
    return stem


def _softened(stem: str, before: str) -> str:
    """The stem of manger and commencer before a or o."""
    assert before in "ao"
    if stem.endswith("g"):
        return stem + "e"
    return stem[:-1] + "ç" if stem.endswith("c") else stem


def _is_vowel(letter: str) -> bool:
    return letter in "aeiouyéèêàâîïôûùh"
