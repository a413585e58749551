"""The gender probe on translations worked out by hand, and the health of outputs that are known to be ill."""

from __future__ import annotations

import gzip
import json
import math

import pytest
import torch
from click.testing import CliRunner

from dragoman import bundle as bundles
from dragoman.cli import main
from dragoman.errors import DataError, ModelError
from dragoman.evaluation.contrastive import wilson
from dragoman.inspection.bias import bias, judge, read_lines, summarise, swapped
from dragoman.inspection.gender import gender_of
from dragoman.inspection.health import HealthSettings, health
from dragoman.inspection.views import probes
from dragoman.measures.alignment import Link
from dragoman.models.rnn import RecurrentSettings
from dragoman.text.vocabulary import EOS
from dragoman.translator import Translator
from reference.bundles import bundle, phrases

MODEL = bundle(RecurrentSettings(size=16))


def translator():
    return Translator(MODEL, device=torch.device("cpu"))


@pytest.mark.parametrize(
    ("sentence", "word", "language", "gender"),
    [
        ("La mécanicienne a appelé.", "mécanicienne", "fr", "female"),
        ("Le secrétaire parle.", "secrétaire", "fr", "male"),
        ("Elle a vu l'infirmière.", "l'infirmière.", "fr", "female"),
        ("Il a vu l\u2019avocat.", "l\u2019avocat.", "fr", "unknown"),
        ("Mon amie parle.", "amie", "fr", "unknown"),
        ("Sa jeune vendeuse parle.", "vendeuse", "fr", "female"),
        ("Les directeurs parlent.", "directeurs", "fr", "unknown"),
        ("Die Ärztin rief an.", "Ärztin", "de", "female"),
        ("Er gab der Ärztin Geld.", "Ärztin", "de", "female"),
        ("Der alte Arzt rief an.", "Arzt", "de", "male"),
        ("Die Angestellte rief an.", "Angestellte", "de", "female"),
        ("Lehrer sind da.", "Lehrer", "de", "male"),
        ("Leute sind da.", "Leute", "de", "unknown"),
    ],
)
def test_forms(sentence, word, language, gender):
    words = sentence.split()
    assert gender_of(words, words.index(word), language=language) == gender


@pytest.mark.parametrize(
    ("sentence", "other"),
    [
        ("She saw him.", None),
        ("The nurse took her coat.", "The nurse took his coat."),
        ("The nurse asked because she was late.", "The nurse asked because he was late."),
        ("The clerk thanked her.", "The clerk thanked him."),
        ("He hurt himself.", "She hurt herself."),
        ("It rains.", None),
    ],
)
def test_pairs_differ_in_the_pronoun_alone(sentence, other):
    assert swapped(sentence) == other


LINES = [
    "female\t1\tThe mechanic called because she was late.\tmechanic",
    "male\t1\tThe nurse called because he was late.\tnurse",
    "female\t1\tThe nurse called because she was late.\tnurse",
    "neutral\t1\tThe clerk called.\tclerk",
]


def test_shares_by_hand():
    lines = read_lines(LINES, place="winomt", pro=LINES[2:3], anti=LINES[:2])
    outputs = ["Le mécanicien a appelé.", "L'infirmière a appelé.", "L'infirmière a appelé.", "La vendeuse a appelé."]
    links = [{Link(0, 0), Link(1, 1)}, {Link(1, 0)}, {Link(1, 0)}, {Link(1, 1)}]
    judged = [judge(line, o, frozenset(a), language="fr") for line, o, a in zip(lines, outputs, links, strict=True)]
    assert [each.found for each in judged] == ["male", "female", "female", "female"]
    assert [each.word for each in judged][:2] == ["mécanicien", "L'infirmière"]
    found = summarise(judged, language="fr")
    assert [(s.name, s.right, s.count) for s in found.shares] == [
        ("all", 1, 3),
        ("female", 1, 2),
        ("male", 0, 1),
        ("pro", 1, 1),
        ("anti", 0, 2),
    ]
    assert found.gap == 100
    assert found.neutral == (1, 0, 0)
    assert found.shares[0].interval == wilson(1, 3)
    assert "mechanic" in probes.bias(found).page()


def test_mistakes_have_a_remedy():
    with pytest.raises(DataError, match="lines:2"):
        read_lines([LINES[0], "female\tone\tx\ty"], place="lines")
    with pytest.raises(ModelError, match="forms of fi"):
        bias(Translator(bundle(RecurrentSettings(size=16)), device=torch.device("cpu")), [], language="fi")


def test_what_is_ill_is_found():
    sources = ["I see 12 cats today.", "He is happy today, my friend.", "She sings."]
    outputs = ["Je vois 13 chats.", "He is happy today, my friend.", "la la la la la la la"]
    found = health(sources, outputs)
    assert "numbers" in found.lines[0].warnings
    assert "copied" in found.lines[1].warnings
    assert "repetition" in found.lines[2].warnings
    assert found.suspicious == 3
    assert dict(found.counts)["numbers"] == 1
    assert found.confidence is None
    with pytest.raises(DataError, match="3 sources and 2 outputs"):
        health(sources, outputs[:2])


def test_the_models_own_numbers():
    model = translator()
    source, output = phrases()[0].english, phrases()[0].french
    strict = HealthSettings(confidence=1.0, contribution=100.0)
    (line,) = health([source], [output], translator=model, settings=strict).lines
    (score,) = model.score([source], [output])
    assert line.confidence == pytest.approx(math.exp(score.log_prob / len(score.tokens)), rel=1e-3)
    labels = [*MODEL.tokenizers.target.encode(output), EOS]
    empty = model.reader.source([[EOS]])
    with torch.no_grad():
        inputs = torch.tensor([[2, *labels[:-1]]])
        hidden = MODEL.model.hidden(empty, inputs, torch.tensor([len(labels)]))
        alone = MODEL.model.logits(hidden).log_softmax(-1)[range(len(labels)), labels].sum()
    assert line.contribution == pytest.approx((score.log_prob - float(alone)) / len(labels), abs=1e-3)
    assert {"low_confidence", "low_contribution"} <= set(line.warnings)


def test_the_verbs(tmp_path):
    bundles.save(MODEL, tmp_path / "model")
    (tmp_path / "lines.gz").write_bytes(gzip.compress("\n".join(LINES).encode()))
    (tmp_path / "src").write_text("I see 12 cats.\nShe sings.\n")
    (tmp_path / "hyp").write_text("Je vois 13 chats.\nElle chante.\n")

    def run(*arguments):
        done = CliRunner().invoke(main.program, ["inspect", *map(str, arguments)], catch_exceptions=False)
        assert done.exit_code == 0, done.stderr
        return done.stdout

    model = tmp_path / "model"
    told = json.loads(run(model, "bias", "--sentences", tmp_path / "lines.gz", "--threads", "1", "--json"))
    assert told["pairs"]["count"] == 3
    assert told["language"] == "fr"
    assert "numbers" in run("-", "health", "--src", tmp_path / "src", "--hyp", tmp_path / "hyp")
    assert "Medians" in run(model, "health", "--src", tmp_path / "src", "--threads", "1")
