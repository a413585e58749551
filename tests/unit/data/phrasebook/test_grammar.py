"""Sentence pairs written by hand, each of which the named construction must produce exactly."""

# ruff: noqa: E501 - a table reads best with one pair to a line

from __future__ import annotations

import pytest

from dragoman.data.phrasebook import find

# construction | English | French
PAIRS = """
person | He hit me with a pie. | Il m'a entarté.
person | He hit her with a pie. | Il l'a entartée.
person | They hit the minister with a pie. | Ils ont entarté le ministre.
person | He has never hit me with a pie. | Il ne m'a jamais entarté.
person | He hit me. | Il m'a frappé.
person | She's waiting for us. | Elle nous attend.
person | I phoned my mother yesterday. | J'ai téléphoné à ma mère hier.
person | I phoned her yesterday. | Je lui ai téléphoné hier.
person | We answered them. | Nous leur avons répondu.
person | Paul didn't invite her. | Paul ne l'a pas invitée.
person | Paul is looking after the dogs. | Paul s'occupe des chiens.
person | He saw them. | Il les a vus.
person | She visited her uncle. | Elle a rendu visite à son oncle.
person | She visited you. | Elle vous a rendu visite.
person | I don't know him. | Je ne le connais pas.
person | Marie looks after the dogs every day. | Marie s'occupe des chiens tous les jours.
person | They'll invite us next Saturday. | Ils nous inviteront samedi prochain.
person | I helped the young woman. | J'ai aidé la jeune femme.
person-question | Did you call the doctor? | Est-ce que vous avez appelé le médecin ?
person-question | Did you see her, Marie? | Est-ce que tu l'as vue, Marie ?
action | I'm eating an apple. | Je mange une pomme.
action | I ate an apple. | J'ai mangé une pomme.
action | I didn't eat any bread yesterday. | Je n'ai pas mangé de pain hier.
action | We drink water every day. | Nous buvons de l'eau tous les jours.
action | We never drink wine. | Nous ne buvons jamais de vin.
action | She doesn't drink wine anymore. | Elle ne boit plus de vin.
action | He often reads a newspaper. | Il lit souvent un journal.
action | My brother bought a red car. | Mon frère a acheté une voiture rouge.
action | I've already read this book. | J'ai déjà lu ce livre.
action | He hasn't found his key yet. | Il n'a pas encore trouvé sa clé.
action | I'm going to buy a new car next week. | Je vais acheter une nouvelle voiture la semaine prochaine.
action | We'll visit the castle tomorrow. | Nous visiterons le château demain.
action | They want to buy a house. | Ils veulent acheter une maison.
action | I'd like to eat an ice cream. | Je voudrais manger une glace.
action | Someone broke a glass in the kitchen. | Quelqu'un a cassé un verre dans la cuisine.
action | He's learning French. | Il apprend le français.
action | Sophie plays the piano every evening. | Sophie joue du piano tous les soirs.
action | They're playing football in the park. | Ils jouent au football dans le parc.
action | The woman tried the dress on. | La femme a essayé la robe.
action | She sold the old flat last year. | Elle a vendu le vieil appartement l'année dernière.
action | I turned the lamp off. | J'ai éteint la lampe.
action | She answered the question. | Elle a répondu à la question.
action | He's wearing an old coat. | Il porte un vieux manteau.
action | She bought a new umbrella. | Elle a acheté un nouveau parapluie.
action | They bought some pretty flowers. | Ils ont acheté de jolies fleurs.
action | He bought some beautiful roses. | Il a acheté de belles roses.
action | Paul is looking for his wallet. | Paul cherche son portefeuille.
action | I'm packing my small suitcase. | Je fais ma petite valise.
action | We took the train this morning. | Nous avons pris le train ce matin.
action | Our children are playing with a dog. | Nos enfants jouent avec un chien.
action-question | Did you find your key? | Est-ce que vous avez trouvé votre clé ?
action-question | Did you find your key, Paul? | Est-ce que tu as trouvé ta clé, Paul ?
action-question | Are you reading a book? | Est-ce que vous lisez un livre ?
action-question | Do you want to watch a film? | Voulez-vous regarder un film ?
action-question | Would you like to drink a coffee? | Voudriez-vous boire un café ?
action-question | Did she buy any apples? | Est-ce qu'elle a acheté des pommes ?
action-question | Is Paul going to sell his car? | Est-ce que Paul va vendre sa voiture ?
deed | Marie rested at home. | Marie s'est reposée à la maison.
deed | We're having fun at the party. | Nous nous amusons à la fête.
deed | I'm doing the shopping at the supermarket. | Je fais les courses au supermarché.
deed | We never do sport. | Nous ne faisons jamais de sport.
deed | She didn't go cycling yesterday. | Elle n'a pas fait de vélo hier.
deed | They took a walk on the beach yesterday. | Ils se sont promenés sur la plage hier.
deed | Anne has already had breakfast. | Anne a déjà pris le petit déjeuner.
deed | They want to play cards. | Ils veulent jouer aux cartes.
deed | They took a walk in the park this morning. | Ils se sont promenés dans le parc ce matin.
deed | I'd like to take a walk with Paul. | Je voudrais me promener avec Paul.
deed | I didn't sleep last night. | Je n'ai pas dormi la nuit dernière.
deed-question | Did you have fun, Marie? | Est-ce que tu t'es amusée, Marie ?
gift | He gave me a watch. | Il m'a donné une montre.
gift | I gave the watch to Paul. | J'ai donné la montre à Paul.
gift | She lent him her car. | Elle lui a prêté sa voiture.
gift | My uncle sent us a postcard. | Mon oncle nous a envoyé une carte postale.
gift | She'll send you a postcard. | Elle vous enverra une carte postale.
gift | I brought her some flowers. | Je lui ai apporté des fleurs.
gift | He returned the book to me. | Il m'a rendu le livre.
gift | They didn't send me any flowers. | Ils ne m'ont pas envoyé de fleurs.
motion | I went to the market yesterday. | Je suis allé au marché hier.
motion | She went to the post office. | Elle est allée à la poste.
motion | They came back from Italy last week. | Ils sont revenus d'Italie la semaine dernière.
motion | Paul will go to the United States next summer. | Paul ira aux États-Unis l'été prochain.
motion | We often go to the cinema. | Nous allons souvent au cinéma.
motion | Marie and Anne arrived in London last night. | Marie et Anne sont arrivées à Londres hier soir.
motion | He goes to the swimming pool every week. | Il va à la piscine toutes les semaines.
state | I'm tired. | Je suis fatigué.
state | Marie is very happy today. | Marie est très contente aujourd'hui.
state | The girls aren't ready. | Les filles ne sont pas prêtes.
state | We were worried last week. | Nous étions inquiets la semaine dernière.
state-question | Are you ready? | Êtes-vous prêt ?
state-question | Are you ready, madam? | Êtes-vous prête, madame ?
state-question | Are you ready, Paul? | Est-ce que tu es prêt, Paul ?
state-question | Are you ready, Marie? | Est-ce que tu es prête, Marie ?
state-question | Are you tired, children? | Êtes-vous fatigués, les enfants ?
trait | Your grandmother is really funny. | Votre grand-mère est vraiment drôle.
trait | His sister isn't shy. | Sa sœur n'est pas timide.
feeling | I'm hungry. | J'ai faim.
feeling | We aren't thirsty. | Nous n'avons pas soif.
feeling | She's lucky. | Elle a de la chance.
feeling | He isn't lucky. | Il n'a pas de chance.
feeling-question | Are you cold? | Avez-vous froid ?
feeling-question | Are you cold, Dad? | Est-ce que tu as froid, papa ?
fear | My aunt is afraid of dogs. | Ma tante a peur des chiens.
age | He's thirty-one years old. | Il a trente et un ans.
age | My grandmother is eighty years old. | Ma grand-mère a quatre-vingts ans.
age | My grandfather is ninety-one years old. | Mon grand-père a quatre-vingt-onze ans.
profession | She's a nurse. | Elle est infirmière.
profession | My brother is a baker. | Mon frère est boulanger.
profession | Emma and Nina are German. | Emma et Nina sont allemandes.
home | I'm from Brazil. | Je viens du Brésil.
home | She's from Italy. | Elle vient d'Italie.
home | Paul lives in Geneva. | Paul habite à Genève.
home | We've been living in Portugal for three years. | Nous habitons au Portugal depuis trois ans.
home | I lived in Lyon for two years. | J'ai habité à Lyon pendant deux ans.
location | The key is on the table. | La clé est sur la table.
location | Your book wasn't next to the lamp. | Votre livre n'était pas à côté de la lampe.
existence | There are three glasses on the table. | Il y a trois verres sur la table.
existence | There aren't any plates in the kitchen. | Il n'y a pas d'assiettes dans la cuisine.
existence | Is there a key in the drawer? | Est-ce qu'il y a une clé dans le tiroir ?
description | This jacket is too expensive. | Cette veste est trop chère.
description | These shoes are very comfortable. | Ces chaussures sont très confortables.
description | The soup is cold. | La soupe est froide.
comparison | Paul is taller than Marie. | Paul est plus grand que Marie.
comparison | My house is bigger than my flat. | Ma maison est plus grande que mon appartement.
comparison | She's as brave as Paul. | Elle est aussi courageuse que Paul.
comparison | The sofa is less expensive than the bed. | Le canapé est moins cher que le lit.
having | I have two brothers. | J'ai deux frères.
having | She doesn't have a car. | Elle n'a pas de voiture.
having | They have an old house. | Ils ont une vieille maison.
having | He doesn't have a horse anymore. | Il n'a plus de cheval.
having-question | Do you have any stamps? | Avez-vous des timbres ?
liking | I like chocolate. | J'aime le chocolat.
liking | He doesn't like cats. | Il n'aime pas les chats.
liking | My sister hates winter. | Ma sœur déteste l'hiver.
liking-question | Do you prefer tea or coffee? | Est-ce que vous préférez le thé ou le café ?
need | We need a new umbrella. | Nous avons besoin d'un nouveau parapluie.
introduction | This is my aunt. | C'est ma tante.
introduction | These are her shoes. | Ce sont ses chaussures.
introduction | This is a good idea. | C'est une bonne idée.
companion | My friend Marie is very kind. | Mon amie Marie est très gentille.
companion | My friend Paul lives in Nice. | Mon ami Paul habite à Nice.
pain | My back hurts. | J'ai mal au dos.
pain | Her head hurts. | Elle a mal à la tête.
order | Open the window, please. | Ouvrez la fenêtre, s'il vous plaît.
order | Close the door, Paul. | Ferme la porte, Paul.
order | Don't open this door. | N'ouvrez pas cette porte.
order | Give me a watch, please. | Donnez-moi une montre, s'il vous plaît.
order | Don't forget your passport! | N'oubliez pas votre passeport !
order | Sit down, please. | Asseyez-vous, s'il vous plaît.
order | Sit down, Paul. | Assieds-toi, Paul.
order | Hurry up, Marie! | Dépêche-toi, Marie !
order | Don't worry, Mum. | Ne t'inquiète pas, maman.
proposal | Let's play cards! | Jouons aux cartes !
proposal | Let's go to the beach. | Allons à la plage.
where-question | Where did you buy this dress? | Où est-ce que vous avez acheté cette robe ?
where-question | Why is he crying? | Pourquoi est-ce qu'il pleure ?
what-question | What are you eating? | Qu'est-ce que vous mangez ?
what-question | Which dress did you choose? | Quelle robe est-ce que vous avez choisie ?
what-question | How many apples did he eat? | Combien de pommes est-ce qu'il a mangées ?
who-question | Who broke the glass? | Qui a cassé le verre ?
who-question | Who did you see last night? | Qui est-ce que vous avez vu hier soir ?
nobody | I didn't see anyone. | Je n'ai vu personne.
nobody | She didn't phone anyone. | Elle n'a téléphoné à personne.
nobody | He didn't eat anything. | Il n'a rien mangé.
nobody | Nobody ate the cake. | Personne n'a mangé le gâteau.
answer | Where is my key? It's on the table. | Où est ma clé ? Elle est sur la table.
answer | Where is the key? I gave it to Paul. | Où est la clé ? Je l'ai donnée à Paul.
answer | Where is the book? He gave it to me. | Où est le livre ? Il me l'a donné.
answer | Where is the ring? She lent it to them. | Où est la bague ? Elle la leur a prêtée.
answer | I lost my key. Did you see it, Paul? | J'ai perdu ma clé. Est-ce que tu l'as vue, Paul ?
relative | The dress that Marie bought is very elegant. | La robe que Marie a achetée est très élégante.
relative | The apples that he ate were delicious. | Les pommes qu'il a mangées étaient délicieuses.
meanwhile | I was reading a book when Paul phoned. | Je lisais un livre quand Paul a téléphoné.
childhood | When I was a child, I used to play football every day. | Quand j'étais enfant, je jouais au football tous les jours.
condition | If it rains tomorrow, we'll play cards. | S'il pleut demain, nous jouerons aux cartes.
condition | If the weather is nice, I'll go to the beach. | S'il fait beau, j'irai à la plage.
reason | I can't come because I'm ill. | Je ne peux pas venir parce que je suis malade.
reason | She isn't coming because she has to work. | Elle ne vient pas parce qu'elle doit travailler.
opinion | I think that your brother is tired. | Je crois que votre frère est fatigué.
opinion | I hope that he'll come tomorrow. | J'espère qu'il viendra demain.
plan | I want to dance, but I have to work. | Je veux danser, mais je dois travailler.
plan | Paul is cooking and Marie is reading a book. | Paul cuisine et Marie lit un livre.
greeting | Hello! | Bonjour !
greeting | Thank you very much. | Merci beaucoup.
named-greeting | How are you, Paul? | Comment vas-tu, Paul ?
restaurant | I'd like a coffee, please. | Je voudrais un café, s'il vous plaît.
restaurant | A table for four, please. | Une table pour quatre, s'il vous plaît.
shopping | How much does this dress cost? | Combien coûte cette robe ?
shopping | The coat costs seventy-one euros. | Le manteau coûte soixante et onze euros.
directions | Where is the station? | Où est la gare ?
directions | The bank is opposite the town hall. | La banque est en face de la mairie.
directions | Take the first street on the left. | Prenez la première rue à gauche.
directions | How do I get to the harbour, please? | Comment est-ce qu'on va au port, s'il vous plaît ?
emergency | I left my camera at home. | J'ai oublié mon appareil photo à la maison.
travel | A return ticket to Lyon, please. | Un aller-retour pour Lyon, s'il vous plaît.
travel | The plane to Rome leaves at half past three. | L'avion pour Rome part à trois heures et demie.
travel | I have never been to Spain. | Je ne suis jamais allé en Espagne.
hotel | I'd like a double room for two nights, please. | Je voudrais une chambre double pour deux nuits, s'il vous plaît.
hotel | Your room is on the third floor. | Votre chambre est au troisième étage.
emergency | Someone stole my passport yesterday. | On m'a volé mon passeport hier.
time | It's quarter to six. | Il est six heures moins le quart.
time | It's twelve o'clock. | Il est midi.
time | Today is 1 March. | Nous sommes aujourd'hui le 1er mars.
time | I was born on 8 August. | Je suis né le 8 août.
weather | It's raining in Paris. | Il pleut à Paris.
weather | It will be cold in London tomorrow. | Il fera froid à Londres demain.
"""


def _pairs() -> list[tuple[str, str, str]]:
    rows = (tuple(cell.strip() for cell in line.split(" | ")) for line in PAIRS.strip().splitlines())
    return [(pattern, english, french) for pattern, english, french in rows]


@pytest.mark.parametrize(("pattern", "english", "french"), _pairs())
def test_the_construction_says_it_exactly_so(pattern, english, french):
    phrase = find(english, pattern=pattern)
    assert phrase is not None, f"{english} is not reached"
    assert phrase.french == french
