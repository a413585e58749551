"""The verb evaluate: files and models, comparisons, contrastive sets, and mistakes of each kind."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import get_args

import pytest
import torch
from click.testing import CliRunner

from dragoman import bundle as bundles
from dragoman.bundle import Bundle, Description, build_model
from dragoman.cli import main
from dragoman.cli.evaluate import evaluate
from dragoman.decoding.greedy import GreedySettings
from dragoman.errors import UserError
from dragoman.measures.metrics import Tokenization
from dragoman.models.recurrent_lm import RecurrentLMSettings
from dragoman.models.rnn import RecurrentSettings
from dragoman.text.build import TextSettings, Tokenizers, train_tokenizer
from dragoman.text.words import WordSettings

SOURCES = ["the cat sat", "my dog ate red pie", "the cat 7", "nobody", "red dog", "my pie"]
GOLD = ["the cat sat", "my dog ate pie", "a cat", "nobody", "red dog", "pie"]


def _save(folder, settings, seed=0, *, symbols=(), **description):
    text = TextSettings(source=WordSettings(), symbols=symbols)
    one = train_tokenizer(text.source, text, texts=["the cat sat on my dog ate red pie 7 . nobody"], size=None)
    sizes = {"source_vocabulary": None, "target_vocabulary": len(one.vocabulary)}
    told = Description(model=settings, length_ratio=1.0, **sizes, **description)
    torch.manual_seed(seed)
    bundles.save(Bundle(told, build_model(told).eval(), Tokenizers(one, one)), folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with models and files of lines."""
    place = tmp_path_factory.mktemp("evaluate")
    _save(place / "one", RecurrentSettings(size=8))
    _save(place / "two", RecurrentSettings(size=8), seed=1)
    _save(place / "tagged", RecurrentSettings(size=8), symbols=("<2de>", "<2fr>"))
    _save(place / "lm", RecurrentLMSettings(size=8))
    _save(place / "greedy", RecurrentSettings(size=8), decoding=GreedySettings())
    files = {
        "src": SOURCES,
        "ref": GOLD,
        "ref2": [*GOLD[:2], "the cat 7", *GOLD[3:]],
        "out": SOURCES,
        "worse": ["x", *SOURCES[1:]],
        "short": GOLD[:3],
        "classes": ["a", "b"] * 3,
        "gold.align": ["0-0", "0-0", "0-0", "0-0", "0-0", "0-0"],
        "out.align": ["0-0", "0-0", "0-0", "0-0", "0-0", "0-1"],
        "set.tsv": ["the cat\tthe cat\tcat\tword", "nobody\tnobody\tmy dog"],
        "set.jsonl": ['{"source": "the cat", "right": "cat", "wrong": ["dog", "pie"]}'],
        "bad.tsv": ["the cat\tcat"],
        "none.tsv": [],
        "far.align": ["0-0", "0-9", "0-0", "0-0", "0-0", "0-0"],
    }
    for name, lines in files.items():
        (place / name).write_text("".join(f"{line}\n" for line in lines))
    return place


@pytest.fixture
def run(folder, monkeypatch):
    """A function that runs the verb in the folder."""
    monkeypatch.chdir(folder)

    def call(*words):
        done = CliRunner().invoke(main.program, ["evaluate", *words])
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done

    return call


QUICK = ("--set", "significance.resamples=100", "--set", "significance.trials=100")
MODEL = ("--threads", "1", "--greedy")


def test_a_file_is_measured_with_intervals_and_signatures(run):
    done = run("out", "--ref", "ref", "--ref", "ref2", "--metric", "exact_match", "--metric", "chrF", *QUICK)
    lines = done.stdout.splitlines()
    assert lines[0] == "out"
    assert lines[3].split()[:2] == ["exact_match", "66.67"]
    assert "exact_match|nrefs:2|case:mixed|unit:line" in done.stdout
    assert "chrf|nrefs:2" in done.stdout


def test_json_says_all(run):
    found = json.loads(run("out", "--ref", "ref", "--classes", "classes", "--metric", "exact_match", "--json").stdout)
    (system,) = found["systems"]
    assert [(m["name"], m["class"], round(m["value"], 2)) for m in system["measurements"]] == [
        ("exact_match", "", 50.0),
        ("exact_match", "a", 66.67),
        ("exact_match", "b", 33.33),
    ]
    assert system["lines"] == 6
    assert system["measurements"][0]["interval"][0] < 50 < system["measurements"][0]["interval"][1]


def test_two_files_are_compared_and_a_page_written(run, folder):
    options = ("--ref", "ref", "--src", "src", "--metric", "chrf", "--report", "page.html", *QUICK)
    found = run("out", "--against", "worse", *options, "--json")
    (test,) = json.loads(found.stdout)["comparison"]
    assert test["difference"] > 0
    assert test["signature"].startswith("bs:100|ar:100|seed:12345")
    assert (folder / "page.html").read_text().startswith("<!doctype html>")
    assert "the differences are shown in page.html" in found.stderr
    assert "out against worse" in run("out", "--against", "worse", *options).stdout


def test_a_model_translates_and_has_a_perplexity(run):
    done = run("one", "--src", "src", "--ref", "ref", "--against", "two", "--metric", "chrf", *QUICK, *MODEL, "--json")
    found = json.loads(done.stdout)
    assert [m["name"] for m in found["systems"][0]["measurements"]] == ["chrf", "perplexity"]
    assert [m["name"] for m in found["comparison"]] == ["chrf"]


def test_a_model_searches_as_it_was_trained_for_unless_told_otherwise(run):
    options = ("--src", "src", "--ref", "ref", "--metric", "chrf", "--threads", "1", *QUICK)
    both = json.loads(run("one", "--against", "greedy", *options, "--json").stdout)["systems"]
    assert [each["search"]["kind"] for each in both] == ["beam", "greedy"]
    told = json.loads(run("greedy", *options, "--beam", "2", "--json").stdout)["systems"]
    assert (told[0]["search"]["kind"], told[0]["search"]["beam"]) == ("beam", 2)
    assert "search|kind:greedy" in run("greedy", *options).stdout
    assert json.loads(run("out", "--ref", "ref", "--json").stdout)["systems"][0]["search"] is None


def test_a_model_of_several_languages_is_told_one(run):
    options = ("tagged", "--src", "src", "--ref", "ref", "--metric", "chrf", "--json", *QUICK, *MODEL)
    with pytest.raises(UserError, match="this model translates into de, fr"):
        run(*options)
    german, french = (json.loads(run(*options, "--target-lang", each).stdout) for each in ("de", "fr"))
    assert german["systems"][0]["measurements"][-1]["name"] == "perplexity"
    assert german["systems"][0]["measurements"] != french["systems"][0]["measurements"]


def test_equal_outputs_are_called_equal(run):
    found = run("out", "--against", "out", "--ref", "ref", "--metric", "chrf", *QUICK).stdout
    assert "chrf: out and out are equal.\n" in found


@pytest.mark.parametrize(
    "words",
    [
        ("--metric", "bleurt"),
        ("--set", "significance.trails=9"),
        ("--comet", "m"),
        ("--classes", "short"),
        ("--against", "short"),
        ("--gold-alignment", "short"),
        ("--gold-alignment", "far.align"),
        ("--contrastive", "bad.tsv"),
        ("--contrastive", "none.tsv"),
    ],
)
def test_a_mistake_is_told_before_a_model_says_its_first_word(words, run, monkeypatch, tmp_path):
    def never(*_, **__):
        pytest.fail("the model was asked")

    monkeypatch.setattr("dragoman.translator.Translator.stream", never)
    monkeypatch.setattr("dragoman.translator.Translator.score", never)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError):
        run("one", "--src", "src", "--ref", "ref", "--threads", "1", *words)


def test_a_language_model_has_only_its_perplexity(run):
    found = json.loads(run("lm", "--ref", "ref", "--threads", "1", "--json").stdout)
    assert [m["name"] for m in found["systems"][0]["measurements"]] == ["perplexity"]


def test_alignments_are_measured_of_models_and_of_files(run):
    options = ("--ref", "ref", "--src", "src", "--gold-alignment", "gold.align", "--metric", "chrf", "--json")
    found = json.loads(run("one", *options, "--words", "src", "ref", *MODEL).stdout)
    assert found["systems"][0]["measurements"][-1]["name"] == "alignment_error_rate"
    found = json.loads(run("out", *options, "--alignment", "out.align").stdout)
    assert found["systems"][0]["measurements"][-1]["value"] == pytest.approx(100 / 6)


def test_contrastive_sets_need_no_references(run):
    done = run("one", "--contrastive", "set.tsv", "--threads", "1")
    *_, whole, word, signature = done.stdout.splitlines()
    assert [line.split()[0] for line in (whole, word)] == ["all", "word"]
    assert signature.startswith("accuracy|log_prob:sum|")
    found = json.loads(run("one", "--contrastive", "set.jsonl", "--threads", "1", "--per-token", "--json").stdout)
    assert found["contrastive"][0]["count"] == 1
    both = json.loads(run("one", "--against", "two", "--contrastive", "set.tsv", "--threads", "1", "--json").stdout)
    assert [(each["system"], each["class"]) for each in both["contrastive"]] == [
        ("one", ""),
        ("one", "word"),
        ("two", ""),
        ("two", "word"),
    ]


def test_search_errors_are_told_apart(run):
    done = run("one", "--src", "src", "--ref", "ref", "--search-errors", "--metric", "chrf", *MODEL, *QUICK)
    assert "whose fault" in done.stdout
    found = json.loads(
        run("one", "--src", "src", "--ref", "ref", "--search-errors", "--expansions", "9", *MODEL, "--json").stdout
    )
    assert len(found["search_errors"]) == 6


def test_a_calibrated_model_says_on_what_it_was_fitted(run, folder, tmp_path):
    shutil.copytree(folder / "one", tmp_path / "model")
    options = ("--src", "src", "--ref", "out", "--metric", "exact_match", *QUICK, *MODEL)
    done = run(str(tmp_path / "model"), *options, "--calibrate")
    assert "fitted on 6 lines of src and out" in done.stdout
    assert "test on other lines" in done.stderr
    again = run(str(tmp_path / "model"), *options, "--json")
    names = [m["name"] for m in json.loads(again.stdout)["systems"][0]["measurements"]]
    assert names == ["exact_match", "perplexity", "word_calibration_error", "sentence_calibration_error"]
    assert "calibrated on these very lines" in again.stderr
    other = run(str(tmp_path / "model"), "--src", "ref", "--ref", "ref", "--metric", "exact_match", *QUICK, *MODEL)
    assert "calibrated on these" not in other.stderr
    arguments = ["translate", str(tmp_path / "model"), "src", "--greedy", "--threads", "1"]
    told = [json.loads(line) for line in CliRunner().invoke(main.program, [*arguments, "--json"]).stdout.splitlines()]
    assert all([w["text"] for w in each["words"]] == each["translation"].split() for each in told)
    lines = CliRunner().invoke(main.program, [*arguments, "--scores"]).stdout.splitlines()
    assert [float(line.split("\t")[3]) for line in lines] == [
        pytest.approx(each["confidence"], abs=1e-4) for each in told
    ]


def test_every_way_of_cutting_words_can_be_asked_for():
    (option,) = [each for each in evaluate.params if each.name == "tokenize"]
    assert tuple(option.type.choices) == get_args(Tokenization)


def test_text_of_the_wrong_kind_is_noticed(run, folder):
    (folder / "tok").write_text("the cat , he sat .\n" * 12)
    assert "looks tokenised" in run("tok", "--ref", "tok", "--metric", "bleu", *QUICK).stderr


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("out",), "give --ref"),
        (("nowhere", "--ref", "ref"), "no such model or file"),
        (("out", "ref", "--ref", "ref"), "repeat --ref"),
        (("out", "--ref", "short"), "out: 6 outputs and 3 references"),
        (("-", "--ref", "-"), "standard input (-) can be read once"),
        (("out", "--ref", "ref", "--words", "src", "ref"), "--gold-alignment"),
        (
            ("one", "--src", "src", "--ref", "ref", "--gold-alignment", "far.align", "--threads", "1"),
            "gold alignments:2: the link 0-9 is beyond 5 and 4 words",
        ),
        (
            ("one", "--src", "src", "--ref", "ref", "--gold-alignment", "gold.align", "--words", "src", "short"),
            "3 words of targets and 6 references",
        ),
        (("out", "--ref", "ref", "--ref", "short"), "of 3 and of 6 lines"),
        (("out", "--ref", "ref", "--metric", "bleurt"), "no metric 'bleurt'"),
        (("out", "--ref", "ref", "--metric", "wer"), "Ask for error_rate"),
        (("out", "--ref", "ref", "--tokenize", "moses"), "tokenize"),
        (("out", "--ref", "ref", "--beam", "4"), "--beam is for a model, and there is none"),
        (("out", "--ref", "ref", "--target-lang", "de"), "--target-lang is for a model"),
        (("out", "--ref", "ref", "--set", "significance.trails=9"), "Did you mean 'trials'"),
        (("out", "--ref", "ref", "--report", "x.html"), "--against"),
        (("out", "--ref", "ref", "--contrastive", "set.tsv"), "asks a model"),
        (("one", "--against", "out", "--contrastive", "set.tsv"), "out is a file"),
        (("one", "--against", "two", "--contrastive", "set.tsv", "--report", "x.html"), "give --ref"),
        (("out", "--ref", "ref", "--gold-alignment", "gold.align"), "--src"),
        (("out", "--ref", "ref", "--comet", "m"), "sources"),
        (("one", "--ref", "ref"), "--src"),
        (("out", "--ref", "ref", "--calibrate"), "asks a model"),
        (("one,two", "--src", "src", "--ref", "ref", "--calibrate", "--threads", "1"), "single model"),
        (("one", "--contrastive", "bad.tsv", "--threads", "1"), "2 columns"),
        (("out", "--ref", "ref", "--alignment", "out.align"), "--gold-alignment"),
    ],
)
def test_mistakes_are_told(words, problem, folder, monkeypatch):
    (folder / "comet-score").write_text("#!/bin/sh\n")
    (folder / "comet-score").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(main.program, ["evaluate", *words])
    assert isinstance(done.exception, SystemExit | UserError)
    assert problem in (done.output if isinstance(done.exception, SystemExit) else str(done.exception))


def test_a_file_is_evaluated_without_torch(folder):
    code = (
        "import sys; from dragoman.cli.main import program\n"
        "try:\n    program.main(['evaluate', 'out', '--ref', 'ref', '--against', 'worse', '--report', 'p.html'])\n"
        "except SystemExit as end:\n    assert not end.code\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=folder, capture_output=True)
