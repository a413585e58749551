"""Verbs with their frames. Columns: English, French, kinds of objects, determiners, aspects, places.

In the first two columns `<for>` is a preposition before the object and `[besoin]` a fixed tail. Aspects: p in progress,
c completed, h habit, f future, s state, m after want and can, i imperative, w in company, r also long ago or far ahead,
n without a date.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from dragoman.data.phrasebook.entries import read_verbs, verb

if TYPE_CHECKING:
    from dragoman.data.phrasebook.entries import Verb

_ACTIONS = """
eat | manger | fruit snack dish food.eaten | a some the | pchfm | eat
eat | manger | vegetable | some the | pchfm | eat
drink | boire | drink | some the | pchf | drink
drink | boire | order.drunk | a | pcfm | drink
buy | acheter | fruit vegetable food drink ware | some | pchfm | shop
buy | acheter | clothes pairs thing luggage toy reading.lent | a the this | pcfm | shop
buy | acheter | flower dishes pairs | some | pcfm | shop
buy | acheter | furniture machine vehicle lodging | a the this | crfm |
sell | vendre | vehicle lodging furniture machine | my the this | crfm |
read | lire | reading | a the this some | pchfmw | read
write | écrire | writing | a the some | pcfm | read
write | écrire | reading.work | a the | pcn |
watch | regarder | show | a the this | pcfmw | home
see | voir | show stage | a the this | cfmw |
look <for> | chercher | belonging thing luggage | my the | pcf | home
find | trouver | belonging thing luggage | my the | c | home
lose | perdre | belonging thing luggage toy | my the | c | street
forget | oublier | belonging thing luggage | my | c |
hide | cacher | belonging thing.hidden | my the | cn | home
open | ouvrir | opening parcel | the this | pcin |
close | fermer | opening.closed | the this | pcin |
wear | porter | clothes pairs | a my this | pf |
try [on/1] | essayer | clothes pairs | a the this | cf | boutique
choose | choisir | clothes pairs thing.chosen furniture | a the this | cf | boutique
wash | laver | clothes.washed pairs.washed | my the | pcf |
wash | laver | vehicle dishes | my the | pcfi |
clean | nettoyer | building.cleaned | the my | pchfi |
clean | nettoyer | pairs.shoe machine.washed fixture.wash | my the | pcf |
prepare | préparer | meal | the a | pcf | kitchen
prepare | préparer | dish | a the | pcf | kitchen
order | commander | dish | a the | cfm | restaurant
order | commander | order | a | cfm | restaurant
order | commander | reading.sold clothes machine furniture | a the this | cf |
carry | porter | luggage | the my | pn |
pack | faire | luggage.case | my | pcfi |
repair | réparer | vehicle machine toy.made furniture.made | the my this | pcf |
break | casser | dishes.fragile | a the my | c | kitchen
break | casser | machine.used | the my | c |
borrow | emprunter | reading.lent thing.lent vehicle luggage | a the this | cf |
use | utiliser | machine.used | the this | pcf |
park | garer | vehicle.driven | the my | cfi | kerb
drive | conduire | vehicle.driven | a the my this | pf |
rent | louer | vehicle lodging | a the this | crfm | holiday
book | réserver | room | a the | crf | hotel
visit | visiter | place.visit | a the this | cfmw |
visit | visiter | village.seen | the this | crfmw |
paint | peindre | building.inside furniture.wood opening.door | the my | pcf |
draw | dessiner | animal flower place.sight | a the | pcf |
photograph | photographier | animal flower place.sight | a the this | pcn |
feed | nourrir | animal | the my | pchf |
stroke | caresser | animal | the my a | pcn |
water | arroser | flower | the my | pchf |
answer | répondre <à> | task.question writing | the this a | pcfn |
understand | comprendre | task.question writing reading.work idea.made | the this | cn |
finish | finir | reading.long task.work writing.letter | the my this | cf |
finish | finir | meal | the my | cn |
begin | commencer | reading.long task.work writing.letter | the this | cf |
listen <to> | écouter | music | a the this | pcfw | home
sing | chanter | music.song | a the this | pcf | street
receive | recevoir | writing parcel | a the | c |
taste | goûter | dish meal.dessert | the this | cfn | restaurant
turn [on/1] | allumer | machine.on furniture.lamp fixture.on | the | cin |
turn [off/1] | éteindre | machine.on furniture.lamp fixture.on | the | cin |
wait <for> | attendre | transport | the a | pcn |
take | prendre | transport | the | chfi |
miss | rater | transport | the my | c |
play <with> | jouer <avec> | toy.indoors | the a | pc | home
play <with> | jouer <avec> | animal.pet | the my a | pc | home
organise | organiser | event.own | a the | prcf |
prepare | préparer | task.exam event.prepared | the a | pcf |
cancel | annuler | event.own | the | cf |
build | construire | building.house | a | prf |
learn | apprendre | language | generic | pcrfn |
study | étudier | language subject | generic | phr | study
teach | enseigner | language subject | generic | pr | study
play | jouer <à> | sport.anywhere | generic | pchfw | park
play | jouer <à> | sport.course | generic | pchfw |
play | jouer <de> | instrument | the | pchf | home
"""
_PEOPLE = """
see | voir | person public kin parents | | cf |
look <for> | chercher | person public kin parents | | pn |
meet | rencontrer | person public | | c |
help | aider | person kin parents | | pchfi |
call | appeler | public kin parents | | pcfi |
phone | téléphoner <à> | public kin parents | | pcf |
invite | inviter | kin parents | | cfi |
thank | remercier | public kin parents person | | cf |
wait <for> | attendre | public kin parents person | | pcin |
visit | rendre [visite] <à> | kin parents | | cf |
look <after> | s'occuper <de> | kin parents animal | | phf |
listen <to> | écouter | public kin parents | | pcin |
understand | comprendre | public kin person | | cn |
kiss | embrasser | kin | | cn |
hit | frapper | person.grown public | | cn |
hit [with/1 a/1 pie/1] | entarter | public person.grown | | c |
answer | répondre <à> | public kin parents | | cfin |
watch | regarder | person animal | | pcn |
hear | entendre | person animal.loud kin | | cn |
know | connaître | person public kin parents | | s |
surprise | surprendre | kin parents | | cn |
forgive | pardonner <à> | kin parents | | cfn |
follow | suivre | person public | | cn |
drive [home/1] | raccompagner | kin parents | | cf |
wake [up/1] | réveiller | kin parents | | cn |
love | aimer | kin parents | | s |
trust | faire [confiance] <à> | public kin | | s |
photograph | photographier | person kin parents | | pcn |
recognise | reconnaître | person public | | cn |
"""
_DEEDS = """
sleep | dormir | | | pcf | sleep
work | travailler | | | phcfw | work
run | courir | | | phc | park
swim | nager | | | phcmw | swim
dance | danser | | | pcmw | night
sing | chanter | | | pcm | street
laugh | rire | | | pcnw |
cry | pleurer | | | pcn | sleep
cook | cuisiner | | | phf |
travel | voyager | | | phcrfmw | travel
smoke | fumer | | | phn | street
shout | crier | | | pcn | street
rest | se reposer | | | pcfm | rest
take [a/1 walk/1] | se promener | | | phcfmw | park
relax | se détendre | | | pcfm | rest
have [fun/1] | s'amuser | | | pcfw | party
study | étudier | | | phf | study
have [breakfast/1] | prendre [le petit/1 déjeuner/1] | | | pcfw | eat
have [lunch/1] | déjeuner | | | pcfmw | eat
have [dinner/1] | dîner | | | pcfmw | eat
hurry | se dépêcher | | | pn |
smile | sourire | | | pcn |
wait | attendre | | | pcn | stop
listen [to music/1] | écouter [de la musique/1] | | | phcfmw | home
watch [television/1] | regarder [la télévision/1] | | | phcfmw | home
do [the/1 shopping/2] | faire [les/1 courses/2] | | | phcfw | shop
do [the/1 housework/2] | faire [le/1 ménage/2] | | | phcf |
do [the/1 washing-up/2] | faire [la/1 vaisselle/2] | | | pcf | kitchen
play [cards/1] | jouer [aux cartes/1] | | | phcfmw | home
play [chess/1] | jouer [aux échecs/1] | | | phcfmw | home
play [hide-and-seek/1] | jouer [à cache-cache/1] | | | pcfw | park
go [cycling/1] | faire [du vélo/1] | | | hcfmw |
do [sport/1] | faire [du sport/1] | | | hfmw | park
get [dressed/1] | s'habiller | | | pcn |
look [for/1 a/2 job/3] | chercher [du/2 travail/3] | | | pcf | town
learn [to drive/1] | apprendre [à conduire/1] | | | prfm |
learn [to swim/1] | apprendre [à nager/1] | | | prfm |
take [photos/1] | prendre [des photos/1] | | | phcfm | sights
go [skiing/1] | faire [du ski/1] | | | crfmw |
do [the/1 gardening/2] | faire [du/1 jardinage/2] | | | phcf |
"""
_MOVES = """
go | aller | | | pcrhfm |
come [back/1] | revenir | | | crf |
arrive | arriver | | | cf |
go [back/1] | retourner | | | crfm |
return | rentrer | | | crf |
"""
_GIFTS = """
give | donner | | | pcfm |
show | montrer | | | pcf |
send | envoyer | | | pcf |
lend | prêter | | | cfm |
sell | vendre | | | cf |
bring | apporter | | | cf |
read | lire | | | pcf |
write | écrire | | | pcf |
return | rendre | | | cf |
"""
_STATES = """
like | aimer | | | s |
love | adorer | | | s |
hate | détester | | | s |
prefer | préférer | | | s |
need | avoir [besoin] <de> | | | s |
"""
# a kind with a dot is a part of a kind; a bare noun is itself
_PARTS = {
    "order.drunk": "coffee tea beer hot_chocolate lemonade glass_of_water glass_of_red_wine cup_of_tea",
    "reading.lent": "book newspaper magazine novel comic_book",
    "thing.lent": "phone umbrella pen watch camera notebook pencil map torch penknife necklace",
    "reading.sold": "book novel",
    "animal.loud": "dog cat bird horse parrot",
    "animal.pet": "dog cat rabbit hamster",
    "thing.chosen": "watch ring necklace umbrella phone camera calendar",
    "food.eaten": "bread cheese meat rice chocolate fish chicken ham",
    "thing.hidden": "present ring watch necklace map notebook",
    "task.work": "exercise job",
    "reading.long": "book novel article story",
    "reading.work": "book novel poem story article",
    "writing.letter": "letter message email",
    "opening.closed": "door window box drawer",
    "vehicle.driven": "car van motorbike lorry",
    "machine.used": "computer printer washing_machine coffee_machine dishwasher",
    "event.own": "meeting party trip wedding conference visit",
    "event.prepared": "meeting party trip wedding conference",
    "toy.made": "doll kite",
    "furniture.made": "table chair bed lamp shelf",
    "furniture.wood": "table chair desk shelf wardrobe",
    "dishes.fragile": "plate glass cup bowl bottle",
    "building.inside": "kitchen bedroom garage bathroom living_room house",
    "building.cleaned": "house flat kitchen bedroom bathroom garage office living_room",
    "clothes.washed": "dress shirt jacket skirt jumper scarf T-shirt blouse",
    "pairs.washed": "sock glove",
    "pairs.shoe": "shoe boot sandal",
    "person.grown": "man woman lady tourist gentleman policeman waitress waiter actress actor",
    "toy.indoors": "doll ball teddy_bear board_game puzzle",
    "luggage.case": "suitcase",
    "place.visit": "museum castle cathedral zoo church",
    "place.sight": "castle church bridge cathedral beach garden harbour",
    "place.bridge": "bridge",
    "opening.door": "door window",
    "task.question": "question",
    "task.exam": "lesson",
    "idea.choice": "choice decision answer",
    "idea.made": "decision answer",
    "meal.dessert": "dessert",
    "furniture.lamp": "lamp",
    "music.song": "song",
    "machine.on": "computer television printer oven radio",
    "fixture.on": "heating light",
    "fixture.wash": "shower",
    "machine.washed": "fridge oven coffee_machine washing_machine",
    "village.seen": "village town district island region",
    "building.house": "house garage",
    "sport.anywhere": "football tennis basketball rugby volleyball",
    "sport.course": "golf",
}


@cache
def actions() -> tuple[Verb, ...]:
    """What people do with things."""
    return tuple(read_verbs(_ACTIONS))


@cache
def towards_people() -> tuple[Verb, ...]:
    """What people do to people."""
    return tuple(read_verbs(_PEOPLE))


@cache
def deeds() -> tuple[Verb, ...]:
    """What people do that needs no object."""
    return tuple(read_verbs(_DEEDS))


@cache
def moves() -> tuple[Verb, ...]:
    """Going and coming."""
    return tuple(read_verbs(_MOVES))


@cache
def gifts() -> tuple[Verb, ...]:
    """What is done with something for somebody."""
    return tuple(read_verbs(_GIFTS))


@cache
def state(english: str) -> Verb:
    """A verb of liking or needing."""
    return next(entry for entry in read_verbs(_STATES) if entry.english == english)


@cache
def with_aspect(verbs: tuple[Verb, ...], aspect: str) -> tuple[Verb, ...]:
    """The verbs that can be used in this aspect."""
    return tuple(entry for entry in verbs if aspect in entry.aspects)


@cache
def parts(kind: str) -> frozenset[str]:
    """The names that make up a part of a kind."""
    return frozenset(name.replace("_", " ") for name in _PARTS[kind].split())


_GROWN_UP = """drive; park; rent; sell; smoke; cook; build; teach; book; cancel; organise; work; repair; look for a job;
    learn to drive"""
_GROWN_UP_THINGS = """car; van; lorry; motorbike; house; flat; wine; beer; cider; coffee; glass of red wine;
    bottle of wine; suit; tie; driving licence; credit card; washing machine; dishwasher;
    coffee machine; oven; fridge; vacuum cleaner"""


@cache
def for_grown_ups(action: Verb, thing: str) -> bool:
    """True for what children are not said to do, or to have."""
    return bool({action.english, action.name} & _listed(_GROWN_UP)) or thing in _listed(_GROWN_UP_THINGS)


@cache
def _listed(names: str) -> frozenset[str]:
    return frozenset(name.strip() for name in names.split(";"))


BE = verb("be", "être")
HAVE = verb("have", "avoir")
