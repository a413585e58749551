"""What is said as it stands: greetings, thanks, calls for help; each with its alignment where the words answer each other."""

# ruff: noqa: E501 - tables of words read best with one group to a line

from __future__ import annotations

GREETINGS = """
hello/1 !/2|bonjour/1 !/2
hi/1 !/2|salut/1 !/2
good/1 evening/1 !/2|bonsoir/1 !/2
good/1 morning/1 ,/2 everybody/3 !/4|bonjour/1 à tous/3 !/4
good/1 night/2 ./3|bonne/1 nuit/2 ./3
goodbye/1 ./2|au/1 revoir/1 ./2
yes/1 ./2|oui/1 ./2
no/1 ./2|non/1 ./2
see/1 you/1 soon/2 !/3|à/1 bientôt/2 !/3
see/1 you/1 tomorrow/2 !/3|à/1 demain/2 !/3
see/1 you/1 later/2 !/3|à/1 plus/2 tard/2 !/3
thank/1 you/1 ./2|merci/1 ./2
thank/1 you/1 very/2 much/2 ./3|merci/1 beaucoup/2 ./3
thank/1 you/1 for/2 your/3 help/4 ./5|merci/1 de/2 votre/3 aide/4 ./5
you're/1 welcome/1 ./2|de/1 rien/1 ./2
please/1 ./2|s'/1 il/1 vous/1 plaît/1 ./2
excuse/1 me/2 ./3|excusez/1 -moi/2 ./3
sorry/1 ./2|désolé/1 ./2
I'm/1 sorry/2 ./3|je/1 suis/1 désolé/2 ./3
of/1 course/1 ./2|bien/1 sûr/1 ./2
all/1 right/1 ./2|d'/1 accord/1 ./2
perhaps/1 ./2|peut-être/1 ./2
welcome/1 !/2|bienvenue/1 !/2
cheers/1 !/2|santé/1 !/2
enjoy/1 your/1 meal/1 !/2|bon/1 appétit/1 !/2
have/1 a/1 good/1 trip/2 !/3|bon/1 voyage/2 !/3
have/1 a/1 nice/1 day/2 !/3|bonne/1 journée/2 !/3
have/1 a/1 nice/1 weekend/2 !/3|bon/1 week-end/2 !/3
have/1 a/1 good/1 holiday/2 !/3|bonnes/1 vacances/2 !/3
happy/1 birthday/2 !/3|joyeux/1 anniversaire/2 !/3
merry/1 Christmas/2 !/3|joyeux/1 Noël/2 !/3
happy/1 new/2 year/3 !/4|bonne/1 année/3 !/4
good/1 luck/2 !/3|bonne/1 chance/2 !/3
congratulations/1 !/2|félicitations/1 !/2
well/1 done/1 !/2|bravo/1 !/2
get/1 well/1 soon/1 !/2|bon/1 rétablissement/1 !/2
how/1 are/2 you/3 ?/4|comment/1 allez/2 -vous/3 ?/4
I'm/1 fine/2 ,/3 thank/4 you/4 ./5|je/1 vais/1 bien/2 ,/3 merci/4 ./5
pleased/1 to/1 meet/1 you/1 ./2|enchanté/1 ./2
what/1 is/1 your/2 name/2 ?/3|comment/1 vous/2 appelez/2 -vous/2 ?/3
I/1 don't/2 understand/3 ./4|je/1 ne/2 comprends/3 pas/2 ./4
I/1 don't/2 know/3 ./4|je/1 ne/2 sais/3 pas/2 ./4
I/1 don't/2 speak/3 French/4 ./5|je/1 ne/2 parle/3 pas/2 français/4 ./5
do you/1 speak/2 English/3 ?/4|parlez/2 -vous/1 anglais/3 ?/4
could/1 you/2 repeat/3 that/4 ,/5 please/6 ?/7|pourriez/1 -vous/2 répéter/3 ,/5 s'/6 il/6 vous/6 plaît/6 ?/7
could/1 you/2 speak/3 more/4 slowly/5 ,/6 please/7 ?/8|pourriez/1 -vous/2 parler/3 plus/4 lentement/5 ,/6 s'/7 il/7 vous/7 plaît/7 ?/8
where/1 are/2 the/3 toilets/4 ?/5|où/1 sont/2 les/3 toilettes/4 ?/5
what/1 time/1 is/2 it/3 ?/4|quelle/1 heure/1 est/2 -il/3 ?/4
what/1 day/2 is/3 it/4 today/5 ?/6|quel/1 jour/2 sommes/3 -nous/4 aujourd'hui/5 ?/6
how/1 old/1 are/2 you/3 ?/4|quel/1 âge/1 avez/2 -vous/3 ?/4
what/1 happened/2 ?/3|que/1 s'/2 est/2 -il passé/2 ?/3
it/1 doesn't/2 matter/3 ./4|ce/1 n'/2 est/3 pas/2 grave/3 ./4
be/1 careful/1 !/2|faites/1 attention/1 !/2
hurry/1 up/1 !/2|dépêchez/1 -vous/1 !/2
wait/1 a/2 moment/3 ,/4 please/5 ./6|attendez/1 un/2 instant/3 ,/4 s'/5 il/5 vous/5 plaît/5 ./6
help/1 !/2|à/1 l'/1 aide/1 !/2
stop/1 thief/1 !/2|au/1 voleur/1 !/2
fire/1 !/2|au/1 feu/1 !/2
call/1 the/2 police/3 !/4|appelez/1 la/2 police/3 !/4
call/1 an/2 ambulance/3 !/4|appelez/1 une/2 ambulance/3 !/4
call/1 a/2 doctor/3 !/4|appelez/1 un/2 médecin/3 !/4
call/1 the/2 fire/3 brigade/3 !/4|appelez/1 les/2 pompiers/3 !/4
it's/1 an/2 emergency/3 !/4|c'/1 est/1 une/2 urgence/3 !/4
there/1 has/1 been/1 an/2 accident/3 ./4|il/1 y/1 a/1 eu/1 un/2 accident/3 ./4
I/1 need/2 help/3 ./4|j'/1 ai/2 besoin/2 d'/2 aide/3 ./4
I'm/1 lost/2 ./3|je/1 suis/1 perdu/2 ./3
leave/1 me/2 alone/3 !/4|laissez/1 -moi/2 tranquille/3 !/4
it's/1 not/2 far/3 ./4|ce/1 n'/2 est/1 pas/2 loin/3 ./4
it's/1 too/2 expensive/3 ./4|c'/1 est/1 trop/2 cher/3 ./4
the/1 bill/2 ,/3 please/4 ./5|l'/1 addition/2 ,/3 s'/4 il/4 vous/4 plaît/4 ./5
can/1 I/2 pay/3 by/4 card/5 ?/6|est -ce que je/2 peux/1 payer/3 par/4 carte/5 ?/6
I'm/1 just/2 looking/3 ,/4 thank/5 you/5 ./6|je/1 regarde/1,3 seulement/2 ,/4 merci/5 ./6
keep/1 the/2 change/3 ./4|gardez/1 la/2 monnaie/3 ./4
it/1 was/2 delicious/3 ./4|c'/1 était/2 délicieux/3 ./4
the/1 kitchen/2 is/3 closed/4 ./5|la/1 cuisine/2 est/3 fermée/4 ./5
turn/1 left/2 ./3|tournez/1 à/2 gauche/2 ./3
turn/1 right/2 ./3|tournez/1 à/2 droite/2 ./3
go/1 straight/2 on/2 ./3|allez/1 tout/2 droit/2 ./3
it's/1 on/2 the/3 left/4 ./5|c'/1 est/1 à/2 gauche/4 ./5
it's/1 on/2 the/3 right/4 ./5|c'/1 est/1 à/2 droite/4 ./5
I'd/1,20 like/20 to make/2 an/3 appointment/4 ./5|je/1 voudrais/20 prendre/2 rendez-vous/4 ./5
I/1 have/2 a/3 headache/4 ./5|j'/1 ai/2 mal/4 à/4 la/4 tête/4 ./5
I/1 have/2 a/3 temperature/4 ./5|j'/1 ai/2 de/3 la/3 fièvre/4 ./5
I/1 have/2 a/3 cold/4 ./5|je/1 suis/2 enrhumé/4 ./5
I/1 feel/2 sick/3 ./4|j'/1 ai/2 mal/3 au/3 cœur/3 ./4
I've/1 got/1 a/2 cough/1 ./4|je/1 tousse/1 ./4
"""
