"""Templates of everyday situations: English | French; `{det:kind}` and other slots are filled by `constructions.situations`."""

# ruff: noqa: E501 - tables of words read best with one group to a line

from __future__ import annotations

RESTAURANT = """
I'd/1,20 like/20 {a:order} ,/2 please/3 ./4|je/1 voudrais/20 {a:order} ,/2 s'/3 il/3 vous/3 plaît/3 ./4
I'd/1,20 like/20 {a:dish} ,/2 please/3 ./4|je/1 voudrais/20 {a:dish} ,/2 s'/3 il/3 vous/3 plaît/3 ./4
could/1 I/2 have/3 {a:order} ,/4 please/5 ?/6|est -ce que je/2 pourrais/1 avoir/3 {a:order} ,/4 s'/5 il/5 vous/5 plaît/5 ?/6
could/1 you/2 bring/3 us/4 {some:dishes.table} ,/5 please/6 ?/7|pourriez/1 -vous/2 nous/4 apporter/3 {some:dishes.table} ,/5 s'/6 il/6 vous/6 plaît/6 ?/7
could/1 you/2 bring/3 me/4 {a:dishes.table} ,/5 please/6 ?/7|pourriez/1 -vous/2 me/4 apporter/3 {a:dishes.table} ,/5 s'/6 il/6 vous/6 plaît/6 ?/7
could/1 you/2 bring/3 me/4 {a:order} ,/5 please/6 ?/7|pourriez/1 -vous/2 me/4 apporter/3 {a:order} ,/5 s'/6 il/6 vous/6 plaît/6 ?/7
I'll/1 have/2 {the:dish} and/3 {a:order} ,/4 please/5 ./6|je/1 vais/1 prendre/2 {the:dish} et/3 {a:order} ,/4 s'/5 il/5 vous/5 plaît/5 ./6
a/1 table/2 for/3 {n:2-10} ,/4 please/5 ./6|une/1 table/2 pour/3 {n:2-10} ,/4 s'/5 il/5 vous/5 plaît/5 ./6
we'd/1,20 like/20 {a:order} and/2 {a#2:order} ,/3 please/4 ./5|nous/1 voudrions/20 {a:order} et/2 {a#2:order} ,/3 s'/4 il/4 vous/4 plaît/4 ./5
we'd/1,20 like/20 a/2 table/3 for/4 {n:2-10} people/5 at/6 {clockpm} ./7|nous/1 voudrions/20 une/2 table/3 pour/4 {n:2-10} personnes/5 à/6 {clockpm} ./7
I'd/1,20 like/20 to book/2 a/3 table/4 for/5 {n:2-10} people/6 {evening} ./7|je/1 voudrais/20 réserver/2 une/3 table/4 pour/5 {n:2-10} personnes/6 {evening} ./7
is/1 there/1 {some:food.in} in/2 {the:dish.savoury} ?/3|est -ce que il/1 y/1 a/1 {some:food.in} dans/2 {the:dish.savoury} ?/3
I/1 can't/2,3 eat/4 {any:food.in} ./5|je/1 ne/3 peux/2 pas/3 manger/4 {any:food.in} ./5
I/1 take/2 my/3 coffee/4 without/5 sugar/6 ./7|je/1 prends/2 mon/3 café/4 sans/5 sucre/6 ./7
a/1 coffee/2 with/3 milk/4 ,/5 please/6 ./7|un/1 café/2 au/3 lait/4 ,/5 s'/6 il/6 vous/6 plaît/6 ./7
what/1 do you/2 recommend/3 ?/4|que/1 recommandez/3 -vous/2 ?/4
how/1 much/1 is/2 {the:dish} ?/3|combien/1 coûte/2 {the:dish} ?/3
"""
SHOPPING = """
how/1 much/1 does/2 {this1:clothes} cost/3 ?/4|combien/1 coûte/2,3 {this1:clothes} ?/4
how/1 much/1 is/2 {the1:furniture} ?/3|combien/1 coûte/2 {the1:furniture} ?/3
how/1 much/1 are/2 {these:pairs} ?/3|combien/1 coûtent/2 {these:pairs} ?/3
how/1 much/1 are/2 {themany:fruit} ?/3|combien/1 coûtent/2 {themany:fruit} ?/3
{the1:clothes} costs/1 {n:15-95} euros/2 ./3|{the1:clothes} coûte/1 {n:15-95} euros/2 ./3
{the1:thing.priced} costs/1 {n:12-95} euros/2 ./3|{the1:thing.priced} coûte/1 {n:12-95} euros/2 ./3
{themany:pairs} cost/1 {n:12-95} euros/2 ./3|{themany:pairs} coûtent/1 {n:12-95} euros/2 ./3
{the:order} costs/1 {n:2-9} euros/2 ./3|{the:order} coûte/1 {n:2-9} euros/2 ./3
do you/1 sell/2 {bare:ware} ?/3|est -ce que vous/1 vendez/2 {bare:ware} ?/3
where/1 can/2 I/3 buy/4 {some:ware} ?/5|où/1 est -ce que je/3 peux/2 acheter/4 {some:ware} ?/5
where/1 can/2 I/3 find/4 {some:supply} ?/5|où/1 est -ce que je/3 peux/2 trouver/4 {some:supply} ?/5
do you/1 have/2 {this1:clothes} in/3 {colour} ?/4|avez/2 -vous/1 {this1:clothes} en/3 {colour} ?/4
can/1 I/2 try/3 on/3 {this1:clothes} ?/4|est -ce que je/2 peux/1 essayer/3 {this1:clothes} ?/4
I'm/1 looking/2 for/2 {a:clothes} for/3 {mykin} ./4|je/1 cherche/1,2 {a:clothes} pour/3 {mykin} ./4
I'm/1 looking/2 for/2 a/3 present/4 for/5 {mykin} ./6|je/1 cherche/1,2 un/3 cadeau/4 pour/5 {mykin} ./6
I'd/1,20 like/20 {n:2-9} {many:fruit.counted} ,/2 please/3 ./4|je/1 voudrais/20 {n:2-9} {many:fruit.counted} ,/2 s'/3 il/3 vous/3 plaît/3 ./4
I'd/1,20 like/20 a/2 kilo/3 of/4 {many:fruit} ,/5 please/6 ./7|je/1 voudrais/20 un/2 kilo/3 de/4 {many:fruit} ,/5 s'/6 il/6 vous/6 plaît/6 ./7
I'd/1,20 like/20 {n:2-9} kilos/2 of/3 {many:vegetable} ,/4 please/5 ./6|je/1 voudrais/20 {n:2-9} kilos/2 de/3 {many:vegetable} ,/4 s'/5 il/5 vous/5 plaît/5 ./6
I'd/1,20 like/20 {n:2-9} slices/2 of/3 ham/4 ,/5 please/6 ./7|je/1 voudrais/20 {n:2-9} tranches/2 de/3 jambon/4 ,/5 s'/6 il/6 vous/6 plaît/6 ./7
I'll/1 take/2 {this1:clothes} ./3|je/1 vais/1 prendre/2 {this1:clothes} ./3
the/1 shop/2 opens/3 at/4 {clockopen} ./5|le/1 magasin/2 ouvre/3 à/4 {clockopen} ./5
the/1 shop/2 closes/3 at/4 {clockpm} ./5|le/1 magasin/2 ferme/3 à/4 {clockpm} ./5
what/1 time/1 does {the:place.open} open/2 ?/3|à quelle/1 heure/1 ouvre/2 {the:place.open} ?/3
what/1 time/1 does {the:place.open} close/2 ?/3|à quelle/1 heure/1 ferme/2 {the:place.open} ?/3
{the:place.open} opens/1 at/2 {clockopen} ./3|{the:place.open} ouvre/1 à/2 {clockopen} ./3
{the:place.open} closes/1 at/2 {clockpm} ./3|{the:place.open} ferme/1 à/2 {clockpm} ./3
"""
DIRECTIONS = """
excuse/1 me/2 ,/3 where/4 is/5 {the:place} ?/6|excusez/1 -moi/2 ,/3 où/4 est/5 {the:place} ?/6
where/1 is/2 {the:place} ?/3|où/1 est/2 {the:place} ?/3
is/1 there/1 {a:place} near/2 here/3 ?/4|est -ce que il/1 y/1 a/1 {a:place} près/2 de/2 ici/3 ?/4
how/1 do I/2 get/3 to/4 {the:place} ,/5 please/6 ?/7|comment/1 est -ce que on/2 va/3 à/4 {the:place} ,/5 s'/6 il/6 vous/6 plaît/6 ?/7
{the:place} is/1 {near} {the#2:place} ./3|{the:place} est/1 {near} {the#2:place} ./3
{the:place} is/1 not/2 far/3 from/4 {the#2:place} ./5|{the:place} ne/2 est/1 pas/2 loin/3 de/4 {the#2:place} ./5
there/1 is/1 {a:place} {near} {the#2:place} ./3|il/1 y/1 a/1 {a:place} {near} {the#2:place} ./3
turn/1 left/2 at/3 {the:place.corner} ./4|tournez/1 à gauche/2 à/3 {the:place.corner} ./4
turn/1 right/2 after/3 {the:place.corner} ./4|tournez/1 à droite/2 après/3 {the:place.corner} ./4
take/1 the/2 {ordinal:f} street/3 on/4 the/4 {side} ./5|prenez/1 la/2 {ordinal:f} rue/3 à/4 {side} ./5
is/1 {the:place} far/2 from/3 {the#2:place} ?/4|est -ce que {the:place} est/1 loin/2 de/3 {the#2:place} ?/4
{the:place} is/1 {n:2-20} minutes/2 from/3 here/4 ./5|{the:place} est/1 à {n:2-20} minutes/2 de/3 ici/4 ./5
it's/1 {n:2-20} minutes/2 from/3 {the:place} ./4|c'/1 est/1 à {n:2-20} minutes/2 de/3 {the:place} ./4
go/1 past/1 {the:place.corner} and/2 turn/3 {side} ./4|passez/1 devant/1 {the:place.corner} et/2 tournez/3 à {side} ./4
cross/1 the/2 street/3 outside/4 {the:place} ./5|traversez/1 la/2 rue/3 devant/4 {the:place} ./5
I'm/1 looking/2 for/2 {the:place} ./3|je/1 cherche/1,2 {the:place} ./3
"""
TRAVEL = """
a/1 ticket/2 to/6 {town} ,/3 please/4 ./5|un/1 billet/2 pour/6 {town} ,/3 s'/4 il/4 vous/4 plaît/4 ./5
a/1 single/2 to/3 {town} ,/4 please/5 ./6|un/1 aller/2 simple/2 pour/3 {town} ,/4 s'/5 il/5 vous/5 plaît/5 ./6
a/1 return/2 ticket/2 to/3 {town} ,/4 please/5 ./6|un/1 aller-retour/2 pour/3 {town} ,/4 s'/5 il/5 vous/5 plaît/5 ./6
I'd/1,20 like/20 {n:2-9} tickets/2 to/3 {town} ,/4 please/5 ./6|je/1 voudrais/20 {n:2-9} billets/2 pour/3 {town} ,/4 s'/5 il/5 vous/5 plaît/5 ./6
what/1 time/1 does the/2 next/3 {transport} to/4 {town} leave/5 ?/6|à quelle/1 heure/1 part/5 le/2 prochain/3 {transport} pour/4 {town} ?/6
what/1 time/1 does the/2 {transport} from/3 {town} arrive/4 ?/5|à quelle/1 heure/1 arrive/4 le/2 {transport} de/3 {town} ?/5
the/1 {transport} to/2 {town} leaves/3 at/4 {clock} ./5|LE/1 {transport} pour/2 {town} part/3 à/4 {clock} ./5
the/1 {transport} from/2 {town} arrives/3 at/4 {clock} ./5|LE/1 {transport} de/2 {town} arrive/3 à/4 {clock} ./5
the/1 {transport} to/2 {town} is/3 {n:5-40} minutes/4 late/5 ./6|LE/1 {transport} pour/2 {town} a/3 {n:5-40} minutes/4 de retard/5 ./6
the/1 {ordinal:m} {transport} to/2 {town} leaves/3 at/4 {clock} ./5|le/1 {ordinal:m} {transport} pour/2 {town} part/3 à/4 {clock} ./5
is/1 this/2 the/3 {transport} to/4 {town} ?/5|est/1 -ce/2 LE/3 {transport} pour/4 {town} ?/5
the/1 {transport} leaves/2 {anyday} at/3 {clock} ./4|LE/1 {transport} part/2 {anyday} à/3 {clock} ./4
we/1 arrived/2 {town_in} at/3 {clock} ./4|nous/1 sommes/2 arrivés/2 {town_in} à/3 {clock} ./4
how/1 long/1 does it/2 take/3 to/4 get/5 {town_to} ?/6|combien/1 de/1 temps/1 faut/3 -il/2 pour/4 aller/5 {town_to} ?/6
it/1 takes/2 {n:2-12} hours/3 to/4 get/5 {town_to} by/6 train/7 ./8|il/1 faut/2 {n:2-12} heures/3 pour/4 aller/5 {town_to} en/6 train/7 ./8
I'm/1 going/1 on/2 holiday/2 {country_to} {leave} ./3|je/1 pars/1 en/2 vacances/2 {country_to} {leave} ./3
we/1 went/2 on/3 holiday/3 {country_to} last/4 summer/5 ./6|nous/1 sommes/2 partis/2 en/3 vacances/3 {country_to} l' été/5 dernier/4 ./6
we/1 spent/2 {n:2-10} days/3 {country_in} ./4|nous/1 avons/2 passé/2 {n:2-10} jours/3 {country_in} ./4
we/1 spent/2 {n:2-10} days/3 {town_in} ./4|nous/1 avons/2 passé/2 {n:2-10} jours/3 {town_in} ./4
have/1 you/2 ever/3 been/4 {country_to} ?/5|est -ce que vous/2 êtes/1 déjà/3 allé/4 {country_to} ?/5
I/1 have/2 never/3 been/4 {country_to} ./5|je/1 ne/3 suis/2 jamais/3 allé/4 {country_to} ./5
I/1 have/2 never/3 been/4 {town_to} ./5|je/1 ne/3 suis/2 jamais/3 allé/4 {town_to} ./5
I/1 live/2 {town_in} ,/3 but/4 I/5 work/6 {town2_in} ./7|je/1 habite/2 {town_in} ,/3 mais/4 je/5 travaille/6 {town2_in} ./7
the/1 flight/2 to/3 {town} has/4 been/4 cancelled/5 ./6|le/1 vol/2 pour/3 {town} a/4 été/4 annulé/5 ./6
{name} is/1 going/2 {town_to} by/3 {vehicle} ./4|{name} va/1,2 {town_to} en/3 {vehicle} ./4
{name} goes/1 {town_to} by/2 {vehicle} every/3 week/4 ./5|{name} va/1 {town_to} en/2 {vehicle} toutes/3 les semaines/4 ./5
"""
HOTEL = """
I'd/1,20 like/20 {a:room} for/2 {n:2-9} nights/3 ,/4 please/5 ./6|je/1 voudrais/20 {a:room} pour/2 {n:2-9} nuits/3 ,/4 s'/5 il/5 vous/5 plaît/5 ./6
do you/1 have/2 {a:room} for/3 tonight/4 ?/5|avez/2 -vous/1 {a:room} pour/3 ce/4 soir/4 ?/5
do you/1 have/2 {a:room} for/3 {n:2-9} nights/4 ?/5|avez/2 -vous/1 {a:room} pour/3 {n:2-9} nuits/4 ?/5
{the:fixture} isn't/1,2 working/3 ./4|{the:fixture} ne/2 marche/1,3 pas/2 ./4
{the:machine.room} isn't/1,2 working/3 ./4|{the:machine.room} ne/2 marche/1,3 pas/2 ./4
the/1 room/2 costs/3 {n:45-99} euros/4 a/5 night/6 ./7|la/1 chambre/2 coûte/3 {n:45-99} euros/4 par/5 nuit/6 ./7
your/1 room/2 is/3 on/4 the/5 {ordinal:m} floor/6 ./7|votre/1 chambre/2 est/3 à/4 LE/5 {ordinal:m} étage/6 ./7
breakfast/1 is/2 at/3 {clockam} ./4|le petit/1 déjeuner/1 est/2 à/3 {clockam} ./4
I'd/1,20 like/20 a/2 room/3 with/4 a/5 view/6 of/7 the/8 sea/9 ./10|je/1 voudrais/20 une/2 chambre/3 avec/4 vue/6 sur/7 la/8 mer/9 ./10
could/1 you/2 wake/3 me/4 up/3 at/5 {clockam} ,/6 please/7 ?/8|pourriez/1 -vous/2 me/4 réveiller/3 à/5 {clockam} ,/6 s'/7 il/7 vous/7 plaît/7 ?/8
I/1 booked/2 {a:room} {past} ./3|je/1 ai/2 réservé/2 {a:room} {past} ./3
there/1 is/1 no/2 {missing} in/3 the/4 room/5 ./6|il/1 ne/2 y/1 a/1 pas/2 de/2 {missing} dans/3 la/4 chambre/5 ./6
could/1 I/2 have/3 {extra} ,/5 please/6 ?/7|est -ce que je/2 pourrais/1 avoir/3 {extra} ,/5 s'/6 il/6 vous/6 plaît/6 ?/7
"""
EMERGENCY = """
someone/1 stole/2 my/3 {stolen} {past} ./4|on/1 me/3 a/2 volé/2 {stolen} {past} ./4
I/1 think/2 that/3 I/4 have/5 lost/6 {mine} ./7|je/1 crois/2 que/3 je/4 ai/5 perdu/6 {mine} ./7
I/1 left/2 {mine} on/3 the/4 {transport} ./5|je/1 ai/2 laissé/2 {mine} dans/3 LE/4 {transport} ./5
I/1 left/2 {mine} at/3 the/4 hotel/5 ./6|je/1 ai/2 oublié/2 {mine} à/3 l'/4 hôtel/5 ./6
I/1 left/2 {mine} at/3 home/4 ./5|je/1 ai/2 oublié/2 {mine} à/3 la maison/4 ./5
I've/1 lost/2 {mine} ./3|je/1 ai/1 perdu/2 {mine} ./3
{mykin} needs/1 a/2 doctor/3 ./4|{mykin} a/1 besoin/1 de/1 un/2 médecin/3 ./4
{mykin} is/1 in/2 hospital/3 ./4|{mykin} est/1 à/2 l'/2 hôpital/3 ./4
{mykin} broke/1 {his} arm/3 ./4|{mykin} se/2 est/1 cassé/1 le/2 bras/3 ./4
take/1 me/2 to/3 {the:place.urgent} ,/4 please/5 ./6|conduisez/1 -moi/2 à/3 {the:place.urgent} ,/4 s'/5 il/5 vous/5 plaît/5 ./6
I've/1 had/1 a/2 toothache/3 for/4 {n:2-9} days/5 ./6|je/1 ai/1 mal/3 à/3 LES/3 dents/3 depuis/4 {n:2-9} jours/5 ./6
take/1 this/2 medicine/3 {n:2-5} times/4 a/5 day/6 ./7|prenez/1 ce/2 médicament/3 {n:2-5} fois/4 par/5 jour/6 ./7
I'd/1,20 like/20 to see/2 a/3 doctor/4 {future} ./5|je/1 voudrais/20 voir/2 un/3 médecin/4 {future} ./5
I/1 need/2 {a:medicine} ./3|je/1 ai/2 besoin/2 de/2 {a:medicine} ./3
"""
TIME = """
it's/1 {clock} ./2|il/1 est/1 {clock} ./2
it's/1 already/2 {clock} !/3|il/1 est/1 déjà/2 {clock} !/3
the/1 meeting/2 starts/3 at/4 {clock} ./5|la/1 réunion/2 commence/3 à/4 {clock} ./5
the/1 film/2 starts/3 at/4 {clock} ./5|le/1 film/2 commence/3 à/4 {clock} ./5
{name} gets/1 up/1 at/2 {clockam} ./3|{name} se/1 lève/1 à/2 {clockam} ./3
I/1 get/2 up/2 at/3 {clockam} ./4|je/1 me/2 lève/2 à/3 {clockam} ./4
{name} goes/1 to/1 bed/1 at/2 {clockbed} ./3|{name} se/1 couche/1 à/2 {clockbed} ./3
she/1 went/2 to/2 bed/2 at/3 {clockbed} {pastnight} ./4|elle/1 se/2 est/2 couchée/2 à/3 {clockbed} {pastnight} ./4
we/1 got/2 up/2 at/3 {clockam} {pastday} ./4|nous/1 nous/2 sommes/2 levés/2 à/3 {clockam} {pastday} ./4
I'll/1 call/2 you/3 at/4 {clock} ./5|je/1 vous/3 appellerai/1,2 à/4 {clock} ./5
I/1 woke/2 up/2 at/3 {clockam} {pastday} ./4|je/1 me/2 suis/2 réveillé/2 à/3 {clockam} {pastday} ./4
let's/1 meet/2 at/3 {clock} outside/4 {the:place} ./5|retrouvons/2 -nous/1 à/3 {clock} devant/4 {the:place} ./5
{name} will/1 be/2 here/3 {anyday} at/4 {clock} ./5|{name} sera/1,2 là/3 {anyday} à/4 {clock} ./5
today/1 is/2 {day} ./3|aujourd'hui/1 ,/4 c'/2 est/2 {day} ./3
tomorrow/1 is/2 {day} ./3|demain/1 ,/4 c'/2 est/2 {day} ./3
yesterday/1 was/2 {day} ./3|hier/1 ,/4 c'/2 était/2 {day} ./3
it's/1 {day} ,/2 {date} ./4|nous/1 sommes/1 le {day} {date} ./4
today/1 is/2 {date} ./3|nous/2 sommes/2 aujourd'hui/1 le {date} ./3
my/1 birthday/2 is/3 on/4 {date} ./5|mon/1 anniversaire/2 est/3 le/4 {date} ./5
the/1 concert/2 is/3 on/4 {day} ,/5 {date} ./6|le/1 concert/2 a/3 lieu/3 le/4 {day} {date} ./6
I/1 was/2 born/2 on/3 {date} ./4|je/1 suis/2 né/2 le/3 {date} ./4
{name} arrives/1 on/2 {date} ./3|{name} arrive/1 le/2 {date} ./3
we're/1 leaving/2 on/3 {date} ./4|nous/1 partons/1,2 le/3 {date} ./4
the/1 party/2 is/3 on/4 {day} evening/5 ./6|la/1 fête/2 est/3 {day} soir/5 ./6
I/1 have/2 {an:event.dated} on/3 {day} at/4 {clock} ./5|je/1 ai/2 {an:event.dated} {day} à/4 {clock} ./5
"""
WEATHER = """
it's/1 {weather} {town_in} ./2|il/1 {weather} {town_in} ./2
it's/1 {weather} today/2 ./3|il/1 {weather} aujourd'hui/2 ./3
it's/1 {weather} {country_in} ./2|il/1 {weather} {country_in} ./2
it/1 {weatherwas} {town_in} {pastday} ./3|il/1 {weatherwas} {town_in} {pastday} ./3
it/1 {weatherwill} {town_in} {futureday} ./3|il/1 {weatherwill} {town_in} {futureday} ./3
it's/1 going/2 to {falls} {futureday} ./3|il/1 va/2 {falls} {futureday} ./3
it/1 often/2 rains/3 {country_in} in/4 {season} ./5|il/1 pleut/3 souvent/2 {country_in} en/4 {season} ./5
it/1 often/2 rains/3 {town_in} in/4 {month} ./5|il/1 pleut/3 souvent/2 {town_in} en/4 {month} ./5
it/1 rained/2 {town_in} {pastday} ./3|il/1 a/2 plu/2 {town_in} {pastday} ./3
it/1 snowed/2 {town_in} {pastday} ./3|il/1 a/2 neigé/2 {town_in} {pastday} ./3
is/1 it/2 {weather} {town_in} ?/3|est -ce que il/2 {weather} {town_in} ?/3
what/1 is/2 the/3 weather/4 like/1 {town_in} ?/5|quel/1 temps/4 fait/2 -il {town_in} ?/5
"""
