"""How a text is cut: merges applied one by one end where the library's own cutting does."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from dragoman import bundle as bundles
from dragoman.cli import main
from dragoman.errors import ModelError
from dragoman.inspection.tokens import tokens
from dragoman.inspection.views.tokens import view
from dragoman.text.build import TextSettings
from dragoman.text.bytepairs import BytePairs, BytePairSettings
from dragoman.text.characters import CharacterSettings
from dragoman.text.normalize import Normalization, Normalizer
from dragoman.text.subword import UnigramSettings
from dragoman.text.vocabulary import SPECIAL, Vocabulary
from reference.bundles import SUBWORDS, bundle, phrases, sentences, tokenizers
from reference.html import Page


def test_merges_end_where_the_library_ends():
    tokenizer = tokenizers(SUBWORDS).source
    for text in sentences():
        found = tokens(tokenizer, text)
        assert [i for word in found.words for i in word.ids] == tokenizer.encode(text)
        assert "".join(word.word for word in found.words) == text.replace(" ", "")
        for word in found.words:
            if word.applied:
                assert word.applied[-1].result == word.pieces
                ranks = [each.rank for each in word.applied]
                assert len(ranks) == sum(len(piece) - 1 for piece in word.pieces)


def test_counts_are_those_of_the_texts():
    tokenizer = tokenizers(SUBWORDS).source
    texts = [p.english for p in phrases()] + [p.french for p in phrases()]
    found = tokens(tokenizer.traced(texts), texts[0])
    first = found.merges[0]
    marked = ["▁" + word for text in texts for word in tokenizer.normalizer(text).split()]
    assert first.count == sum(word.count(first.piece) for word in marked)  # before all others nothing is in its way
    assert all(each.count == found.merges[each.rank - 1].count for word in found.words for each in word.applied)


def test_other_tokenizers_say_why():
    for settings, why in ((UnigramSettings(), "most probable together"), (CharacterSettings(), "by itself")):
        size = 420 if isinstance(settings, UnigramSettings) else None
        cut = TextSettings(source=settings, **({"vocabulary_size": size} if size else {}))
        found = tokens(tokenizers(cut).source, "a cat")
        assert why in found.words[0].why
        assert not found.words[0].applied


def test_imported_tokenizers_are_told_word_by_word():
    merges = (("h", "e"), ("Ġ", "t"), ("Ġt", "he"))
    vocabulary = Vocabulary([*SPECIAL, *"Ġabehlt", *("".join(pair) for pair in merges)])
    tokenizer = BytePairs(
        merges, settings=BytePairSettings(), vocabulary=vocabulary, normalizer=Normalizer(Normalization())
    )
    found = tokens(tokenizer, "he the table")
    assert [(each.word, each.pieces) for each in found.words] == [
        ("he", ("he",)),
        ("the", ("Ġthe",)),
        ("table", ("Ġt", "a", "b", "l", "e")),
    ]
    assert all("merges over bytes" in each.why for each in found.words)


def test_what_is_shown():
    found = tokens(tokenizers(SUBWORDS).source, "I saw 猫.")
    page = Page(view(found).page())
    assert page.text("span") == [piece for word in found.words for piece in word.pieces]
    assert any("spelled in bytes" in line for line in view(found).lines)


def test_a_word_that_comes_twice_is_explained_once():
    found = view(tokens(tokenizers(SUBWORDS).source, "a cat, a cat"))
    names = [each.get("aria-label") for section in found.sections for each in section.iter()]
    regions = [name for name in names if name]
    assert regions
    assert len(regions) == len(set(regions))


def test_the_verb(tmp_path):
    bundles.save(bundle(), tmp_path / "model")
    (tmp_path / "corpus").write_text("the cat\nthe hat\n", encoding="utf-8")
    start = ["inspect", str(tmp_path / "model"), "tokens", "the cat", "--threads", "1"]
    done = CliRunner().invoke(
        main.program, [*start, "--json", "--corpus", str(tmp_path / "corpus")], catch_exceptions=False
    )
    merges = {m["left"] + m["right"]: m["count"] for m in json.loads(done.stdout)["merges"]}
    assert merges["▁t"] == 2
    bundles.save(bundle(text=TextSettings(source=CharacterSettings())), tmp_path / "letters")
    with pytest.raises(ModelError, match="no merges to count"):
        CliRunner().invoke(
            main.program,
            ["inspect", str(tmp_path / "letters"), "tokens", "x", "--corpus", str(tmp_path / "corpus")],
            catch_exceptions=False,
        )
