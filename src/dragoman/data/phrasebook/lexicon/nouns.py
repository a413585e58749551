"""Nouns by the kind of thing they name; kinds decide which verbs and adjectives suit them."""

# ruff: noqa: E501 - tables of words read best with one group to a line

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from dragoman.data.phrasebook.entries import read_nouns

if TYPE_CHECKING:
    from dragoman.data.phrasebook.entries import Noun

_TABLES = {
    # what can be counted and eaten
    "fruit": """apple=pomme f; pear=poire f; orange=orange f; banana=banane f; plum=prune f; strawberry=fraise f;
        cherry=cerise f; peach=pêche f; melon=melon m; apricot=abricot m""",
    "vegetable": """tomato=tomate f; carrot=carotte f; potato=pomme/1 de terre/1 f>pommes/1 de terre/1; onion=oignon m;
        cucumber=concombre m; mushroom=champignon m""",
    "snack": """sandwich=sandwich m; egg=œuf m; cake=gâteau m; biscuit=biscuit m; croissant=croissant m; pancake=crêpe f;
        ice/1 cream/1=glace/1 f; waffle=gaufre f; yoghurt=yaourt m; omelette=omelette f""",
    "dish": """pizza=pizza f; salad=salade f; soup=soupe f; steak=steak m; apple/1 pie/2=tarte/2 aux pommes/1 f;
        cheese/1 sandwich/2=sandwich/2 au fromage/1 m; stew=ragoût m; hamburger=hamburger m""",
    "food": """bread=pain m; cheese=fromage m; meat=viande f; rice=riz m; butter=beurre m; chocolate=chocolat m; fish=poisson m;
        chicken=poulet m; ham=jambon m; honey=miel m; sugar=sucre m; salt=sel m; jam=confiture f""",
    "drink": """water=eau f; milk=lait m; wine=vin m; beer=bière f; tea=thé m; coffee=café m; orange/1 juice/2=jus/2 d' orange/1 m;
        lemonade=limonade f; cider=cidre m; apple/1 juice/2=jus/2 de pomme/1 m; mineral/1 water/2=eau/2 minérale/1 f""",
    "order": """coffee=café m; tea=thé m; beer=bière f; hot/1 chocolate/2=chocolat/2 chaud/1 m;
        glass/1 of/2 water/3=verre/1 d'/2 eau/3 m>verres/1 d'/2 eau/3; lemonade=limonade f;
        glass/1 of/2 red/4 wine/3=verre/1 de/2 vin/3 rouge/4 m; cup/1 of/2 tea/3=tasse/1 de/2 thé/3 f;
        bottle/1 of/2 wine/3=bouteille/1 de/2 vin/3 f; bottle/1 of/2 water/3=bouteille/1 d'/2 eau/3 f""",
    # what can be read, watched, heard
    "reading": """book=livre m; newspaper=journal m; magazine=magazine m; novel=roman m; article=article m; poem=poème m;
        story=histoire f; comic/1 book/1=bande/1 dessinée/1 f>bandes/1 dessinées/1""",
    "writing": """letter=lettre f; postcard=carte/1 postale/1 f>cartes/1 postales/1; message=message m; email=e-mail m""",
    "show": """film=film m; match=match m; documentary=documentaire m; cartoon=dessin/1 animé/1 m>dessins/1 animés/1""",
    "stage": """play=pièce f; concert=concert m; ballet=ballet m; opera=opéra m""",
    "music": """song=chanson f; record=disque m""",
    # what is worn
    "clothes": """dress=robe f; shirt=chemise f; jacket=veste f; coat=manteau m; hat=chapeau m; skirt=jupe f; jumper=pull m;
        scarf=écharpe f; tie=cravate f; T-shirt=tee-shirt m; suit=costume m; belt=ceinture f; raincoat=imperméable m;
        cap=casquette f; blouse=chemisier m""",
    "pairs": """shoe=chaussure f; glove=gant m; sock=chaussette f; boot=botte f; sandal=sandale f""",
    # what is owned, carried, lost
    "thing": """phone=téléphone m; umbrella=parapluie m; pen=stylo m; watch=montre f; ticket=billet m;
        camera=appareil/1 photo/1 m>appareils/1 photo/1; notebook=carnet m; ring=bague f; pencil=crayon m; map=carte f;
        torch=lampe/1 de poche/1 f; present=cadeau m; necklace=collier m; calendar=calendrier m; penknife>penknives=canif m""",
    "belonging": """key=clé f; wallet=portefeuille m; passport=passeport m; credit/1 card/2=carte/2 de crédit/1 f;
        driving/1 licence/2=permis/2 de conduire/1 m; identity/1 card/2=carte/2 d' identité/1 f""",
    "luggage": """bag=sac m; suitcase=valise f; backpack=sac/1 à dos/1 m; handbag=sac/1 à main/1 m""",
    "parcel": """parcel=colis m; package=paquet m""",
    "machine": """computer=ordinateur m; television=télévision f; printer=imprimante f; fridge=réfrigérateur m;
        washing/1 machine/2=machine/2 à laver/1 f; dishwasher=lave-vaisselle m>lave-vaisselle;
        coffee/1 machine/2=machine/2 à café/1 f; oven=four m; radio=radio f; vacuum/1 cleaner/1=aspirateur/1 m""",
    "fixture": """lift=ascenseur m; shower=douche f; heating=chauffage m; light=lumière f""",
    "furniture": """table=table f; chair=chaise f; bed=lit m; sofa=canapé m; lamp=lampe f; armchair=fauteuil m;
        desk=bureau m; shelf=étagère f; mirror=miroir m; carpet=tapis m; wardrobe=armoire f; mattress=matelas m""",
    "dishes": """plate=assiette f; glass=verre m; cup=tasse f; knife=couteau m; fork=fourchette f; spoon=cuillère f;
        bowl=bol m; bottle=bouteille f; saucepan=casserole f; napkin=serviette f""",
    "opening": """door=porte f; window=fenêtre f; box=boîte f; drawer=tiroir m; envelope=enveloppe f""",
    "vehicle": """car=voiture f; bike=vélo m; motorbike=moto f; van=camionnette f; lorry=camion m""",
    "toy": """doll=poupée f; ball=ballon m; teddy/1 bear/2=ours/2 en peluche/1 m; kite=cerf-volant m>cerfs-volants;
        board/1 game/2=jeu/2 de société/1 m>jeux/2 de société/1; puzzle=puzzle m""",
    "flower": """flower=fleur f; rose=rose f; tulip=tulipe f; plant=plante f""",
    "animal": """dog=chien m; cat=chat m; rabbit=lapin m; bird=oiseau m; horse=cheval m; pony=poney m; tortoise=tortue f;
        parrot=perroquet m; hamster=hamster m""",
    # where one goes
    "place": """station=gare f; bank=banque f; hotel=hôtel m; post/1 office/1=poste/1 f; school=école f; hospital=hôpital m;
        chemist's>chemists'=pharmacie f; museum=musée m; church=église f; restaurant=restaurant m; cinema=cinéma m; market=marché m;
        supermarket=supermarché m; library=bibliothèque f; beach=plage f; park=parc m; swimming/1 pool/1=piscine/1 f;
        airport=aéroport m; bakery=boulangerie f; town/1 hall/1=mairie/1 f>mairies/1; police/1 station/1=commissariat/1 m;
        castle=château m; theatre=théâtre m; bookshop=librairie f; café=café m; university=université f; bridge=pont m;
        stadium=stade m; bus/1 station/2=gare/2 routière/1 f>gares/2 routières/1; tourist/1 office/2=office/2 de tourisme/1 m;
        cathedral=cathédrale f; harbour=port m; zoo=zoo m; butcher's>butchers'=boucherie f; embassy=ambassade f""",
    "building": """house=maison f; flat=appartement m; garden=jardin m; kitchen=cuisine f; bedroom=chambre f;
        bathroom=salle/1 de bains/1 f; garage=garage m; office=bureau m; living/1 room/1=salon/1 m""",
    "lodging": """house=maison f; flat=appartement m""",
    "village": """village=village m; town=ville f; street=rue f; square=place f; district=quartier m; island=île f; region=région f""",
    "transport": """train=train m; bus=bus m; plane=avion m; boat=bateau m; coach=car m; tram=tram m; ferry=ferry m""",
    # what one has to do with
    "task": """question=question f; exercise=exercice m; problem=problème m; exam=examen m; lesson=leçon f; job=travail m; test=test m""",
    "event": """meeting=réunion f; appointment=rendez-vous m; party=fête f; trip=voyage m; wedding=mariage m;
        conference=conférence f; visit=visite f""",
    "meal": """meal=repas m; dinner=dîner m; lunch=déjeuner m; dessert=dessert m""",
    "idea": """idea=idée f; plan=projet m; answer=réponse f; choice=choix m; decision=décision f""",
    "room": """room=chambre f; single/1 room/2=chambre/2 simple/1 f>chambres/2 simples/1;
        double/1 room/2=chambre/2 double/1 f>chambres/2 doubles/1""",
    # people, only where English itself tells the gender or French has one word for both
    "person": """man=homme m; woman=femme f; boy=garçon m; girl=fille f; child=enfant m; lady=dame f; tourist=touriste m;
        gentleman>gentlemen=monsieur m; policeman>policemen=policier m; waitress=serveuse f; waiter=serveur m; baby=bébé m;
        actress=actrice f; actor=acteur m""",
    "public": """doctor=médecin m; dentist=dentiste m; mayor=maire m; minister=ministre m; lawyer=avocat m; plumber=plombier m;
        driver=chauffeur m; guide=guide m; postman>postmen=facteur m; manager=directeur m; secretary=secrétaire m""",
    "kin": """mother=mère f; father=père m; brother=frère m; sister=sœur f; son=fils m; daughter=fille f;
        grandmother=grand-mère f; grandfather=grand-père m; uncle=oncle m; aunt=tante f;
        wife=femme f; husband=mari m; nephew=neveu m; niece=nièce f""",
    "parents": """parent=parent m; child=enfant m; friend=ami m; grandparent=grand-parent m>grands-parents;
        neighbour=voisin m; colleague=collègue m; cousin=cousin m""",
    # what one likes, plays, learns
    "sport": """football=football m; tennis=tennis m; basketball=basket m; rugby=rugby m; golf=golf m; volleyball=volley m""",
    "instrument": """piano=piano m; guitar=guitare f; violin=violon m; flute=flûte f; trumpet=trompette f""",
    "subject": """history=histoire f; music=musique f; biology=biologie f; chemistry=chimie f; law=droit m; medicine=médecine f;
        computer/1 science/1=informatique/1 f; geography=géographie f; philosophy=philosophie f""",
    "language": """French=français m; English=anglais m; Spanish=espagnol m; Italian=italien m; German=allemand m;
        Japanese=japonais m; Chinese=chinois m; Portuguese=portugais m; Russian=russe m; Arabic=arabe m""",
    "pastime": """music=musique f; cinema=cinéma m; sport=sport m; dancing=danse f; cooking=cuisine f; painting=peinture f;
        poetry=poésie f; nature=nature f; snow=neige f; silence=silence m; summer=été m; winter=hiver m""",
    "body": """head=tête f; back=dos m; stomach=ventre m; arm=bras m; leg=jambe f; foot=pied m; hand=main f; knee=genou m;
        throat=gorge f; shoulder=épaule f; finger=doigt m; ear=oreille f""",
    "supply": """soap=savon m; shampoo=shampooing m; toothpaste=dentifrice m; paper=papier m; sun/1 cream/2=crème/2 solaire/1 f;
        money=argent m; change=monnaie f; petrol=essence f""",
    "ware": """stamp=timbre m; towel=serviette f; battery=pile f; candle=bougie f; postcard=carte/1 postale/1 f>cartes/1 postales/1;
        toothbrush=brosse/1 à dents/1 f; blanket=couverture f; pillow=oreiller m; basket=panier m""",
    "medicine": """aspirin=aspirine f; bandage=pansement m; thermometer=thermomètre m""",
}


@cache
def nouns(*kinds: str) -> tuple[Noun, ...]:
    """The nouns of these kinds, in the order of the tables."""
    return tuple(noun for kind in kinds for noun in read_nouns(kind, _TABLES[kind]))


@cache
def noun(name: str, kind: str) -> Noun:
    """The noun of this name and kind."""
    return next(entry for entry in nouns(kind) if entry.name == name)


def size() -> int:
    """How many nouns there are."""
    return len({(entry.name, entry.singular.french) for kind in _TABLES for entry in nouns(kind)})
