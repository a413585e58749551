"""The verbs that use a trained model: translate, score, generate."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

from dragoman import bundle as bundles
from dragoman.bundle import Bundle, Description, build_model
from dragoman.cli import main
from dragoman.decoding.beam import BeamSettings
from dragoman.decoding.filters import FilterSettings
from dragoman.errors import DataError, ModelError, SettingError
from dragoman.models.recurrent_lm import RecurrentLMSettings
from dragoman.models.rnn import RecurrentSettings
from dragoman.models.transformer import TransformerSettings
from dragoman.text.build import TextSettings, Tokenizers, train_tokenizer
from dragoman.text.words import WordSettings
from dragoman.translator import load

LINES = ["the cat sat", "", "my dog ate red pie", "the cat 7"]


def _save(folder, settings, seed=0, **description):
    text = TextSettings(source=WordSettings())
    one = train_tokenizer(text.source, text, texts=["the cat sat on my dog ate red pie 7 . nobody"], size=None)
    size = len(one.vocabulary)
    description = {"length_ratio": 1.0, **description}
    told = Description(model=settings, source_vocabulary=None, target_vocabulary=size, **description)
    torch.manual_seed(seed)
    model = build_model(told).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)
    bundles.save(Bundle(told, model, Tokenizers(one, one)), folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with two translators, a language model and files of lines."""
    place = tmp_path_factory.mktemp("models")
    _save(place / "one", RecurrentSettings(size=12))
    _save(place / "two", RecurrentSettings(size=8), seed=1)
    _save(place / "lm", RecurrentLMSettings(size=8))
    _save(place / "transformer", TransformerSettings(size=16, encoder_layers=1, decoder_layers=1))
    no_repeat = FilterSettings(no_repeat=1)
    _save(
        place / "told",
        RecurrentSettings(size=12),
        decoding=BeamSettings(beam=2, alpha=0.0, filters=no_repeat),
        source_language="en",
        target_language="fr",
    )
    (place / "in.txt").write_text("".join(f"{line}\n" for line in LINES))
    return place


@pytest.fixture
def run(folder):
    """A function that runs the program in the folder, and returns the lines of its result."""

    def call(*arguments, stdin=None):
        words = [str(folder / a) if (folder / a).exists() else a for a in arguments]
        done = CliRunner().invoke(
            main.program, [*words, *([] if "generate" in words else ["--threads", "1"])], input=stdin
        )
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done

    return call


def test_a_line_for_each_line(run, folder, tmp_path):
    lines = run("translate", "one", "in.txt", "--greedy").stdout.split("\n")
    assert len(lines) == len(LINES) + 1
    assert lines[1] == ""
    model = load(folder / "one")
    expected = [t.text for t in model.translate(LINES)]
    assert run("translate", "one", stdin="\n".join(LINES)).stdout.splitlines() == expected
    run("translate", "one", "in.txt", "-o", str(tmp_path / "out.txt"))
    assert (tmp_path / "out.txt").read_text().splitlines() == expected


def test_odd_lines_stay_lines(run):
    odd = ["\x00\x0b", "😀", "a\u2028b\x85", "the\rcat", "你好" * 50, "the cat " * 500]
    done = run("translate", "one", "--greedy", "--max-length", "5", stdin="\n".join(odd) + "\n")
    assert len(done.stdout.splitlines()) == len(odd)


def test_json_lines_are_as_documented(run):
    done = run("translate", "one", "in.txt", "--json", "--alignments", "--nbest", "2")
    values = [json.loads(line) for line in done.stdout.splitlines()]
    names = {"source", "translation", "score", "log_prob", "tokens", "alignment", "alternatives", "warnings"}
    assert [v["source"] for v in values] == LINES
    for value in values:
        assert set(value) == names
        assert value["log_prob"] == pytest.approx(sum(t["log_prob"] for t in value["tokens"]), abs=1e-5)
    assert len(values[0]["alternatives"]) == 1
    assert set(values[0]["alternatives"][0]) == {"translation", "score"}
    assert all(len(link) == 2 for link in values[0]["alignment"])
    plain = json.loads(run("translate", "one", "--json", stdin="the").stdout)
    assert set(plain) == names - {"alignment", "alternatives"}
    exact = json.loads(run("translate", "one", "--json", "--exact", "--max-length", "3", stdin="the").stdout)
    assert exact["proven"] is True
    assert exact["expansions"] > 0
    few = ["--exact", "--max-length", "9", "--set", "decoding.expansions=2"]
    assert "not proven within 2 expansions" in run("translate", "one", *few, stdin="the cat").stderr


@pytest.mark.parametrize(
    "search",
    [
        ["--beam", "2", "--alpha", "0.5"],
        ["--sample", "--seed", "1", "--temperature", "0.5", "--top-k", "3", "--top-p", "0.9"],
        ["--mbr", "4", "--seed", "2"],
        ["--set", "decoding.kind=diverse", "--set", "decoding.beam=4", "--set", "decoding.groups=2"],
        ["--set", "decoding.coverage=0.2"],
    ],
    ids=" ".join,
)
def test_searches(run, search):
    done = run("translate", "one", "in.txt", *search)
    assert len(done.stdout.splitlines()) == len(LINES)


def test_the_model_says_how_it_searches_where_nobody_else_does(run, folder):
    def lines(*options):
        return run("translate", "told", "in.txt", "--scores", *options).stdout.splitlines()

    plain = ["--set", "decoding.filters.no_repeat=0"]
    assert lines() == lines("--beam", "2", "--alpha", "0", "--set", "decoding.filters.no_repeat=1")
    assert lines() != lines("--alpha", "1")
    assert (
        lines("--beam", "5", "--alpha", "1", *plain)
        == run("translate", "one", "in.txt", "--scores").stdout.splitlines()
    )
    assert lines("--greedy") != lines("--greedy", *plain)  # another search has its filters
    model = load(folder / "told")
    assert model.decoding.beam == 2
    assert [t.text for t in model.translate(LINES)] == [line.split("\t")[2] for line in lines()]
    assert len(model.translate("the cat", nbest=3).alternatives) == 2
    assert len(load(folder / "lm").generate(["the"], nbest=3)[0].alternatives) == 2


def test_scores_nbest_and_alignments_are_fields(run):
    lines = run("translate", "one", "in.txt", "--nbest", "2", "--scores", "--alignments").stdout.splitlines()
    fields = [line.split("\t") for line in lines]
    assert [f[0] for f in fields] == ["1", "1", "2", "3", "3", "4", "4"]
    assert all(len(f) == 4 for f in fields)
    float(fields[0][1])


def test_prefixes_glossaries_bans_and_blocklists(run, folder):
    (folder / "prefix").write_text("my dog\n\nthe\nred\n")
    (folder / "glossary").write_text("# terms\ncat\tred pie\tnobody\n")
    (folder / "banned").write_text("sat\n")
    (folder / "blocked").write_text("Dog\n")
    lines = run("translate", "one", "in.txt", "--prefix", "prefix").stdout.splitlines()
    assert [line.startswith(p) for line, p in zip(lines, ("my dog", "", "the", "red"), strict=True)] == [True] * 4
    lines = run("translate", "one", "in.txt", "--glossary", "glossary").stdout.splitlines()
    assert all("red pie" in line or "nobody" in line for line in (lines[0], lines[3]))
    assert "sat" not in run("translate", "one", "in.txt", "--banned", "banned").stdout
    blocked = run("translate", "one", "in.txt", "--blocklist", "blocked")
    assert blocked.stdout.splitlines()[2] == ""
    assert (blocked.exit_code, "1 of 4 lines have no output" in blocked.stderr) == (3, True)
    (folder / "prefix").write_text("my dog\n")
    with pytest.raises(DataError, match="there is no prefix number 2"):
        run("translate", "one", "in.txt", "--prefix", "prefix")
    (folder / "glossary").write_text("cat\n")
    with pytest.raises(DataError, match=r"glossary:1: 'cat' is not a term"):
        run("translate", "one", "in.txt", "--glossary", "glossary")


def test_an_ensemble(run, folder):
    both = f"{folder / 'one'},{folder / 'two'}"
    alone = run("translate", "one", "in.txt", "--scores").stdout
    assert run("translate", both, "in.txt", "--scores").stdout != alone
    assert len(run("translate", both, "in.txt", "--batch-tokens", "3").stdout.splitlines()) == len(LINES)
    with pytest.raises(ModelError, match="different kinds of source"):
        run("translate", f"{folder / 'one'},{folder / 'lm'}", "in.txt")


def test_short_lists_are_learned_and_used(run, folder):
    with pytest.raises(SettingError, match="this model has no short-list"):
        run("translate", "transformer", "in.txt", "--short-list", "3")
    (folder / "pairs.src").write_text("the cat\nmy dog\nred pie\n")
    (folder / "pairs.tgt").write_text("cat\ndog\npie\n")
    files = [str(folder / name) for name in ("transformer", "pairs.src", "pairs.tgt")]
    learning = ["shortlist", *files, "--json", "--most", "2", "--frequent", "0"]
    done = CliRunner().invoke(main.program, learning, catch_exceptions=False)
    facts = json.loads(done.stdout)
    assert (facts["pairs"], facts["source_words"], facts["always"]) == (3, 6, 2)
    plain = run("translate", "transformer", "in.txt", "--scores").stdout
    assert run("translate", "transformer", "in.txt", "--scores", "--short-list", "2").stdout != plain
    (folder / "pairs.tgt").write_text("cat\n")
    with pytest.raises(DataError, match=r"pairs.tgt:2: line 2 of .*pairs.src has no partner"):
        run("score", "transformer", "pairs.src", "pairs.tgt")


def test_fewer_bits_for_models_that_can(run):
    plain, *fewer = [
        [
            json.loads(line)["log_prob"]
            for line in run("translate", "transformer", "in.txt", "--json", *options).stdout.splitlines()
        ]
        for options in ([], ["--precision", "bfloat16"], ["--precision", "int8"])
    ]
    for log_probs in fewer:
        assert log_probs != plain
        assert log_probs == pytest.approx(plain, rel=0.2)
    with pytest.raises(SettingError, match="precision: this model cannot be computed in int8"):
        run("translate", "one", "in.txt", "--precision", "int8")


def test_a_language_model_has_a_say(run, folder):
    plain = run("translate", "one", "in.txt", "--scores").stdout
    helped = run("translate", "one", "in.txt", "--scores", "--lm", "lm", "--lm-weight", "0.5").stdout
    assert helped != plain
    model = load(folder / "one", language_model=folder / "lm", language_weight=0.5)
    assert [line.split("\t")[2] for line in helped.splitlines()] == [t.text for t in model.translate(LINES)]
    assert "name it with --lm" in run("translate", "one", "in.txt", "--lm-weight", "0.5").output
    with pytest.raises(ModelError, match="this is no language model"):
        run("translate", "one", "in.txt", "--lm", "two")


def test_scores_of_pairs(run, folder):
    done = run("score", "one", "in.txt", "in.txt", "--tokens")
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    expected = load(folder / "one").score(LINES, LINES)
    assert [float(row[0]) for row in rows] == pytest.approx([s.log_prob for s in expected], abs=1e-3)
    assert [len(row[2].split(" ")) for row in rows] == [len(s.tokens) for s in expected]
    value = json.loads(run("score", "one", "in.txt", "in.txt", "--json").stdout.splitlines()[0])
    assert set(value) == {"source", "target", "log_prob", "perplexity", "tokens"}
    (folder / "short").write_text("the\n")
    with pytest.raises(DataError, match=r"short:2: line 2 of .*in.txt has no partner"):
        run("score", "one", "in.txt", "short")
    assert "a file of sources and one of targets" in run("score", "one", "in.txt").output


def test_language_models(run):
    assert len(run("score", "lm", "in.txt").stdout.splitlines()) == len(LINES)
    done = run(
        "generate", "lm", "--prompt", "the cat", "--prompt", "my", "--max-length", "6", "--nbest", "2", "--seed", "1"
    )
    lines = done.stdout.splitlines()
    assert [line.startswith(p) for line, p in zip(lines, ("the cat",) * 2 + ("my",) * 2, strict=True)] == [True] * 4
    with pytest.raises(ModelError, match="dragoman generate"):
        run("translate", "lm", "in.txt")
    with pytest.raises(ModelError, match="dragoman translate"):
        run("generate", "one")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--greedy", "--sample"], "--greedy and --sample are different searches"),
        (["--greedy", "--nbest", "2"], "--nbest means nothing to a search of kind 'greedy'"),
        (["--beam", "3", "--seed", "1"], "--seed means nothing to a search of kind 'beam'"),
        (["--symmetrize", "union"], "add --alignments"),
    ],
)
def test_options_that_contradict_each_other(run, options, message):
    done = run("translate", "one", "in.txt", *options)
    assert done.exit_code == 2
    assert message in done.output


def test_languages_that_a_model_does_not_know_are_refused(run):
    assert run("translate", "told", "in.txt", "--source-lang", "en", "--target-lang", "fr").exit_code == 0
    for option in ("--source-lang", "--target-lang"):
        with pytest.raises(SettingError, match="this model does not know 'de'"):
            run("translate", "told", "in.txt", option, "de")


def test_mistakes_name_value_place_and_remedy(run, folder):
    with pytest.raises(SettingError, match=r"decoding.alpa: unknown setting 'alpa'. Did you mean 'alpha'"):
        run("translate", "one", "in.txt", "--set", "decoding.alpa=1")
    (folder / "latin").write_bytes(b"the\ncaf\xe9\n")
    with pytest.raises(DataError, match=r"latin:2: byte 0xe9 at position 4 is not UTF-8"):
        run("translate", "one", "latin")


@pytest.mark.parametrize("threads", [1, 2])
def test_a_reader_who_stops_early_ends_the_program_quietly(folder, threads):
    many = "the cat sat on my dog\n" * 3000
    (folder / "many").write_text(many)
    program = f"{sys.executable} -m dragoman translate {folder / 'one'} {folder / 'many'} --greedy --max-length 3"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{program} --threads {threads} | head -n 1"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert (done.returncode, done.stderr, len(done.stdout.splitlines())) == (0, "", 1)


def test_an_interrupt_ends_all_processes_at_once(folder):
    """Two processes at work on a search that has no end in sight."""
    (folder / "many").write_text("the cat sat on my dog\n" * 3000)
    program = [sys.executable, "-m", "dragoman", "translate", folder / "one", folder / "many", "--threads", "2"]
    with subprocess.Popen(
        [*program, "--sample", "--nbest", "2000", "--min-length", "400", "--max-length", "500"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as whole:
        children = Path(f"/proc/{whole.pid}/task/{whole.pid}/children")
        deadline = time.monotonic() + 60
        while len(children.read_text().split()) < 3:  # two workers, and what counts their resources
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(1)
        os.killpg(whole.pid, signal.SIGINT)
        out, err = whole.communicate(timeout=30)
    assert (whole.returncode, out, err) == (130, "", "error: interrupted\n")
