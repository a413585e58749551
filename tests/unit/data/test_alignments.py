"""Alignments of a store's examples: read from files, whatever was left out, and learned."""

from __future__ import annotations

import pytest

from dragoman.data import corpus as corpora
from dragoman.data.alignments import learn_alignments, learned_alignments, read_alignments
from dragoman.data.corpus import TextFiles
from dragoman.data.encoding import Encoder, TextEncoder
from dragoman.data.preparation import Part, prepare
from dragoman.errors import DataError
from dragoman.text.build import TextSettings, train_tokenizer
from dragoman.text.symbols import SymbolSettings

SOURCES = ["a b", "", "c b a", "d a c b a", "b"]
TARGETS = ["B A", "X", "A B C", "A B C A D", "B"]
LINKS = ["0-1 1-0", "", "0-2 1-1 2-0", "0-4", ""]


@pytest.fixture
def made(tmp_path):
    """A function from lines to a corpus and its store, which leaves out long sources."""

    def make(sources=SOURCES, targets=TARGETS, *, name="", prefix=()):
        for side, lines in (("source", sources), ("target", targets)):
            (tmp_path / f"{name}{side}").write_text("".join(f"{line}\n" for line in lines))
        files = TextFiles(source=str(tmp_path / f"{name}source"), target=str(tmp_path / f"{name}target"))
        corpus = corpora.build(files, on_bad="skip")
        tokenizer = train_tokenizer(SymbolSettings(), TextSettings(), texts=[*sources, *targets], size=None)
        encoder = Encoder(TextEncoder(tokenizer, longest=4), TextEncoder(tokenizer, longest=9))
        part = Part(corpus, "made", source_prefix=prefix)
        return corpus, prepare(tmp_path / f"{name}store", [part], encoder=encoder, workers=0)

    return make


def written(tmp_path, lines, name="links"):
    (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    return str(tmp_path / name)


def test_a_line_belongs_to_the_line_of_its_number(made, tmp_path):
    corpus, store = made(prefix=(5,))
    found = read_alignments([written(tmp_path, LINKS)], [corpus], store)
    assert len(found) == len(store) == 3  # line 2 is empty, and line 4 is too long
    assert [found[i] for i in range(3)] == [[(0, 1), (1, 0)], [(0, 2), (1, 1), (2, 0)], []]
    assert [found.source_prefix(i) for i in range(3)] == [1, 1, 1]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([*LINKS[:2], "0-2 3-0", *LINKS[3:]], "links:3: names source word 3 of 3"),
        ([*LINKS[:2], "0-3", *LINKS[3:]], "links:3: names target word 3 of 3"),
        ([*LINKS[:2], "0:2", *LINKS[3:]], "links:3: '0:2' is not a link"),
        (LINKS[:3], "links: ends before line 4"),
        ([*LINKS, "0-0"], "links: has 6 lines, but .*source has 5"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(made, tmp_path, lines, told):
    corpus, store = made()
    with pytest.raises(DataError, match=told):
        read_alignments([written(tmp_path, lines)], [corpus], store)


def test_each_corpus_has_its_file(made, tmp_path):
    corpus, store = made()
    with pytest.raises(DataError, match="2 files of alignments for 1 corpora"):
        read_alignments([written(tmp_path, LINKS)] * 2, [corpus], store)


def test_a_last_line_that_is_skipped_needs_its_line_too(made, tmp_path):
    corpus, store = made([*SOURCES, ""], [*TARGETS, "x"])
    assert len(read_alignments([written(tmp_path, [*LINKS, ""])], [corpus], store)) == 3
    with pytest.raises(DataError, match="has 5 lines, but"):
        read_alignments([written(tmp_path, LINKS)], [corpus], store)


def test_learned_ones_find_who_translates_whom(made):
    texts = ["a", "b", "c"] * 9 + ["a b", "b c", "c a", "a b c", "c b", "b a"]
    corpus, store = made(texts, [text.upper()[::-1] for text in texts])
    found = learn_alignments([corpus], store)
    for example, text in enumerate(texts):
        words = text.split()
        assert found[example] == [(i, len(words) - 1 - i) for i in range(len(words))]


def test_learned_ones_are_kept_and_found_again(made, tmp_path, monkeypatch):
    corpus, store = made()
    learned = learned_alignments(tmp_path / "kept", [corpus], store)
    (kept,) = (tmp_path / "kept").iterdir()
    assert len(kept.read_text().splitlines()) == 3
    monkeypatch.setattr("dragoman.data.alignments.learn_alignments", None)
    again = learned_alignments(tmp_path / "kept", [corpus], store)
    assert [again[i] for i in range(3)] == [learned[i] for i in range(3)]
