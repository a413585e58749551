"""French paradigms written by hand."""

from __future__ import annotations

import pytest

from dragoman.data.phrasebook import french_verbs

PRESENT = {
    "être": "suis es est sommes êtes sont",
    "avoir": "ai as a avons avez ont",
    "aller": "vais vas va allons allez vont",
    "faire": "fais fais fait faisons faites font",
    "pouvoir": "peux peux peut pouvons pouvez peuvent",
    "vouloir": "veux veux veut voulons voulez veulent",
    "devoir": "dois dois doit devons devez doivent",
    "savoir": "sais sais sait savons savez savent",
    "venir": "viens viens vient venons venez viennent",
    "revenir": "reviens reviens revient revenons revenez reviennent",
    "prendre": "prends prends prend prenons prenez prennent",
    "comprendre": "comprends comprends comprend comprenons comprenez comprennent",
    "voir": "vois vois voit voyons voyez voient",
    "boire": "bois bois boit buvons buvez boivent",
    "mettre": "mets mets met mettons mettez mettent",
    "dire": "dis dis dit disons dites disent",
    "écrire": "écris écris écrit écrivons écrivez écrivent",
    "lire": "lis lis lit lisons lisez lisent",
    "connaître": "connais connais connaît connaissons connaissez connaissent",
    "découvrir": "découvre découvres découvre découvrons découvrez découvrent",
    "recevoir": "reçois reçois reçoit recevons recevez reçoivent",
    "manger": "mange manges mange mangeons mangez mangent",
    "commencer": "commence commences commence commençons commencez commencent",
    "acheter": "achète achètes achète achetons achetez achètent",
    "appeler": "appelle appelles appelle appelons appelez appellent",
    "préférer": "préfère préfères préfère préférons préférez préfèrent",
    "payer": "paie paies paie payons payez paient",
    "nettoyer": "nettoie nettoies nettoie nettoyons nettoyez nettoient",
    "envoyer": "envoie envoies envoie envoyons envoyez envoient",
    "finir": "finis finis finit finissons finissez finissent",
    "attendre": "attends attends attend attendons attendez attendent",
    "espérer": "espère espères espère espérons espérez espèrent",
    "essayer": "essaie essaies essaie essayons essayez essaient",
    "donner": "donne donnes donne donnons donnez donnent",
    "travailler": "travaille travailles travaille travaillons travaillez travaillent",
    "étudier": "étudie étudies étudie étudions étudiez étudient",
    "jouer": "joue joues joue jouons jouez jouent",
    "rencontrer": "rencontre rencontres rencontre rencontrons rencontrez rencontrent",
    "montrer": "montre montres montre montrons montrez montrent",
}


@pytest.mark.parametrize(("infinitive", "forms"), PRESENT.items())
def test_present(infinitive, forms):
    assert french_verbs.present(infinitive) == tuple(forms.split())


@pytest.mark.parametrize(
    ("infinitive", "forms"),
    [
        ("être", "étais étais était étions étiez étaient"),
        ("avoir", "avais avais avait avions aviez avaient"),
        ("faire", "faisais faisais faisait faisions faisiez faisaient"),
        ("manger", "mangeais mangeais mangeait mangions mangiez mangeaient"),
        ("commencer", "commençais commençais commençait commencions commenciez commençaient"),
        ("boire", "buvais buvais buvait buvions buviez buvaient"),
        ("étudier", "étudiais étudiais étudiait étudiions étudiiez étudiaient"),
        ("finir", "finissais finissais finissait finissions finissiez finissaient"),
        ("préférer", "préférais préférais préférait préférions préfériez préféraient"),
    ],
)
def test_imperfect(infinitive, forms):
    assert french_verbs.imperfect(infinitive) == tuple(forms.split())


@pytest.mark.parametrize(
    ("infinitive", "first"),
    [
        ("être", "serai"),
        ("avoir", "aurai"),
        ("aller", "irai"),
        ("faire", "ferai"),
        ("pouvoir", "pourrai"),
        ("vouloir", "voudrai"),
        ("devoir", "devrai"),
        ("savoir", "saurai"),
        ("venir", "viendrai"),
        ("voir", "verrai"),
        ("envoyer", "enverrai"),
        ("acheter", "achèterai"),
        ("appeler", "appellerai"),
        ("préférer", "préférerai"),
        ("répéter", "répéterai"),
        ("nettoyer", "nettoierai"),
        ("payer", "paierai"),
        ("manger", "mangerai"),
        ("attendre", "attendrai"),
        ("finir", "finirai"),
        ("mettre", "mettrai"),
        ("courir", "courrai"),
        ("jeter", "jetterai"),
        ("étudier", "étudierai"),
    ],
)
def test_future(infinitive, first):
    assert french_verbs.future(infinitive)[0] == first


def test_conditional_joins_the_stem_of_the_future_and_the_endings_of_the_imperfect():
    assert french_verbs.conditional("vouloir") == (
        "voudrais",
        "voudrais",
        "voudrait",
        "voudrions",
        "voudriez",
        "voudraient",
    )
    assert french_verbs.conditional("pouvoir")[4] == "pourriez"


@pytest.mark.parametrize(
    ("infinitive", "form"),
    [
        ("avoir", "eu"),
        ("être", "été"),
        ("prendre", "pris"),
        ("apprendre", "appris"),
        ("lire", "lu"),
        ("mettre", "mis"),
        ("devoir", "dû"),
        ("voir", "vu"),
        ("ouvrir", "ouvert"),
        ("découvrir", "découvert"),
        ("naître", "né"),
        ("mourir", "mort"),
        ("finir", "fini"),
        ("vendre", "vendu"),
        ("acheter", "acheté"),
        ("boire", "bu"),
        ("savoir", "su"),
        ("recevoir", "reçu"),
        ("suivre", "suivi"),
        ("vivre", "vécu"),
    ],
)
def test_participle(infinitive, form):
    assert french_verbs.participle(infinitive) == form


@pytest.mark.parametrize(
    ("plain", "feminine", "plural", "form"),
    [
        ("vu", True, False, "vue"),
        ("vu", True, True, "vues"),
        ("pris", False, True, "pris"),
        ("pris", True, False, "prise"),
        ("dû", True, False, "due"),
        ("dû", False, False, "dû"),
    ],
)
def test_agreement_of_the_participle(plain, feminine, plural, form):
    assert french_verbs.agreed(plain, feminine=feminine, plural=plural) == form


@pytest.mark.parametrize(
    ("infinitive", "forms"),
    [
        ("parler", ("parle", "parlons", "parlez")),
        ("aller", ("va", "allons", "allez")),
        ("finir", ("finis", "finissons", "finissez")),
        ("ouvrir", ("ouvre", "ouvrons", "ouvrez")),
        ("être", ("sois", "soyons", "soyez")),
        ("avoir", ("aie", "ayons", "ayez")),
        ("prendre", ("prends", "prenons", "prenez")),
        ("faire", ("fais", "faisons", "faites")),
    ],
)
def test_imperative(infinitive, forms):
    assert french_verbs.imperative(infinitive) == forms


def test_motion_takes_etre_and_the_rest_avoir():
    verbs = ("aller", "naître", "manger", "courir")
    assert [french_verbs.auxiliary(verb) for verb in verbs] == ["être", "être", "avoir", "avoir"]
