"""Attention: the numbers behind the picture against plain loops over the model's own weights, and the pages."""

from __future__ import annotations

import json

import pytest
import torch
from click.testing import CliRunner

from dragoman import bundle as bundles
from dragoman.bundle import AlignedBy
from dragoman.cli import main
from dragoman.data.phrasebook import words
from dragoman.errors import ModelError, SettingError
from dragoman.inspection.attention import Shown, attention
from dragoman.inspection.views.attention import view
from dragoman.measures.alignment import Link, read_pharaoh
from dragoman.models.rnn import RecurrentSettings
from dragoman.models.transformer_lm import TransformerLMSettings
from dragoman.text.vocabulary import EOS
from dragoman.translator import Translator
from reference.browser import needs_chromium, opened
from reference.bundles import bundle, phrases, sentences
from reference.html import Page

TRANSFORMER = bundle()
RECURRENT = bundle(RecurrentSettings(size=16))


def translator(one):
    return Translator(one, device=torch.device("cpu"))


def test_words_sum_over_their_columns_and_average_over_their_rows():
    model = translator(TRANSFORMER)
    source, output = phrases()[0].english, phrases()[0].french
    found = attention(model, source, output)
    tokenizers = model.bundle.tokenizers
    raw = model.explain(source, output).maps.cross_LBHTS[:, 0]
    assert found.columns == tuple(source.split())
    assert found.rows == tuple(output.split())
    columns = pieces_of_words(tokenizers.source, source, without="▁")  # a mark of space alone is of no source word
    rows = pieces_of_words(tokenizers.target, output)
    for layer in range(2):
        for head in range(2):
            for t, name in enumerate(rows):
                for s, across in enumerate(columns):
                    values = [sum(float(raw[layer, head, i, j]) for j in across) for i in name]
                    assert found.heads[layer][head][t][s] == pytest.approx(sum(values) / len(values), abs=1e-6)
    first, second = found.heads[1]
    mean = [[(a + b) / 2 for a, b in zip(*each, strict=True)] for each in zip(first, second, strict=True)]
    for row, wanted in zip(found.weights, mean, strict=True):
        assert row == pytest.approx(wanted)
    best = {Link(max(range(len(row)), key=row.__getitem__), t) for t, row in enumerate(mean)}
    assert found.links == best


def pieces_of_words(tokenizer, text, without=None):
    """For each word, the places of its pieces, found by adding piece after piece to the text."""
    ids = tokenizer.encode(text)
    found = [[] for _ in text.split()]
    for place in range(len(ids)):
        if tokenizer.vocabulary.pieces[ids[place]] != without:
            found[len(tokenizer.decode(ids[: place + 1]).split()) - 1].append(place)
    return found


def test_pieces_are_all_that_the_model_reads_and_rows_sum_to_one():
    model = translator(RECURRENT)
    found = attention(model, sentences()[0], shown=Shown(pieces=True))
    tokenizers = model.bundle.tokenizers
    assert found.generated
    assert len(found.columns) == len(tokenizers.source.encode(sentences()[0])) + 1
    assert len(found.rows) == len(tokenizers.target.encode(found.output)) + 1
    assert found.rows[-1] == tokenizers.target.vocabulary.pieces[EOS]
    for row in found.weights:
        assert sum(row) == pytest.approx(1, abs=1e-5)


def test_other_words_can_be_named():
    model = translator(TRANSFORMER)
    phrase = phrases()[1]
    shown = Shown(source_words=words(phrase.english), output_words=words(phrase.french))
    found = attention(model, phrase.english, phrase.french, shown=shown)
    assert found.columns == tuple(words(phrase.english))
    assert found.rows == tuple(words(phrase.french))


def test_a_head_of_a_layer_can_be_chosen():
    found = attention(translator(TRANSFORMER), "I see.", "Je vois.", shown=Shown(by=AlignedBy(layer=0, head=1)))
    assert found.weights == found.heads[0][1]
    with pytest.raises(ModelError, match="no head 2 among 2"):
        attention(translator(TRANSFORMER), "I see.", "Je vois.", shown=Shown(by=AlignedBy(layer=0, head=2)))


def test_gold_gives_an_error_rate():
    gold = read_pharaoh("0-0 1?1")
    found = attention(translator(TRANSFORMER), "I see.", "Je vois.", gold=gold)
    sure, possible = {(0, 0)}, {(0, 0), (1, 1)}
    links = {(link.source, link.target) for link in found.links}
    rate = 1 - (len(links & sure) + len(links & possible)) / (len(links) + len(sure))
    assert found.scores.error_rate == pytest.approx(rate)
    assert "Alignment error rate" in " ".join(view(found).lines)


def test_within_the_source_and_within_the_output():
    model = translator(TRANSFORMER)
    encoder = attention(model, "I see a cat.", "Je vois.", shown=Shown(looking="encoder"))
    assert encoder.rows == encoder.columns == ("I", "see", "a", "cat.")
    assert not encoder.links
    decoder = attention(model, "I see a cat.", "Je vois un chat.", shown=Shown(looking="decoder"))
    assert all(sum(row[place + 1 :]) == 0 for place, row in enumerate(decoder.weights))  # nobody looks ahead
    language_model = bundle(TransformerLMSettings(size=16, layers=2))
    alone = attention(translator(language_model), "", "Je vois.", shown=Shown(looking="decoder"))
    assert alone.rows[1:] == tuple(
        language_model.tokenizers.target.vocabulary.pieces[i]
        for i in language_model.tokenizers.target.encode("Je vois.")
    )


def test_what_cannot_be_shown_is_said():
    blind = translator(bundle(RecurrentSettings(size=16, attention=None)))
    with pytest.raises(ModelError, match="has none at all"):
        attention(blind, "I see.", "Je vois.")
    with pytest.raises(ModelError, match="It has: cross"):
        attention(translator(RECURRENT), "I see.", "Je vois.", shown=Shown(looking="encoder"))
    with pytest.raises(SettingError, match="nothing to look"):
        attention(translator(TRANSFORMER), "I see.", "")


def test_every_cell_tells_its_weight_and_every_head_unfolds():
    found = attention(translator(TRANSFORMER), "I see a cat.", "Je vois un chat.")
    page = Page(view(found).page())
    large = 1 + 4  # the chosen one, and each head's
    assert len([each for each in page.all("rect") if each["class"] == "cell"]) == 16 * large
    assert len(page.all("summary")) == 1 + 4
    told = f"chat. → cat.: {found.weights[3][3]:.0%}"
    assert told in page.text("title")
    assert all(each.get("aria-labelledby") for each in page.all("svg"))
    identifiers = [each["id"] for tag in ("title", "desc") for each in page.all(tag) if "id" in each]
    assert len(identifiers) == len(set(identifiers))


@needs_chromium
def test_the_page_opens_without_errors_and_asks_for_nothing(tmp_path):
    seen = opened(view(attention(translator(TRANSFORMER), "I see a cat.", "Je vois un chat.")).page(), tmp_path)
    assert seen.console == ()
    assert seen.requests == ()
    assert seen.dom.count("<details>") == 5


@needs_chromium
def test_the_browser_would_tell(tmp_path):
    seen = opened("<script>console.error('oops')</script><img src='https://example.com/x.png'>", tmp_path)
    assert "oops" in seen.console[0]
    assert seen.requests == ("https://example.com/x.png",)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "transformer"
    bundles.save(TRANSFORMER, path)
    return path


def run(*arguments):
    return CliRunner().invoke(main.program, ["inspect", *map(str, arguments)], catch_exceptions=False)


def test_the_verb_prints_draws_and_writes(folder, tmp_path):
    pytest.importorskip("matplotlib")
    files = [tmp_path / f"map.{kind}" for kind in ("html", "svg", "png", "pdf", "json")]
    options = [option for file in files for option in ("--out", file)]
    done = run(folder, "attention", "I see a cat.", "Je vois.", "--threads", "1", *options)
    assert done.exit_code == 0, done.stderr
    assert done.stdout == ""
    assert all(file.stat().st_size > 500 for file in files)
    drawn = run(folder, "attention", "I see a cat.", "Je vois.", "--layer", "1", "--head", "2", "--threads", "1")
    assert "vois." in drawn.stdout
    printed = json.loads(run(folder, "attention", "I see a cat.", "Je vois.", "--json", "--threads", "1").stdout)
    assert printed["columns"] == ["I", "see", "a", "cat."]
    assert printed == json.loads(files[-1].read_text())


def test_mistakes_have_a_remedy(folder):
    assert "ends with none of .html" in run(folder, "attention", "I", "-o", "x.gif").stderr
    with pytest.raises(SettingError, match="Name a bundle"):
        run("-", "attention", "I")
