"""Which attention aligns: the one that the gold was read off is found."""

from __future__ import annotations

import pytest
import torch

from dragoman.bundle import AlignedBy, Bundle, Description, build_model
from dragoman.errors import DataError
from dragoman.evaluation.aligning import best_attention
from dragoman.measures.alignment import GoldAlignment, links_by_target
from dragoman.models.attention import AttentionSettings
from dragoman.models.transformer import TransformerSettings
from dragoman.text.build import TextSettings, Tokenizers, train_tokenizer
from dragoman.text.words import WordSettings
from dragoman.translator import Translator

WORDS = ["the", "cat", "sat", "on", "my", "dog", "ate", "red", "pie", "7", ".", "nobody"]
PAIRS = [(" ".join(WORDS[n : n + 5]), " ".join(reversed(WORDS[n : n + 4]))) for n in range(8)] + [("the cat", "on")]


@pytest.fixture(scope="module")
def model():
    """A Transformer of two layers with two heads, whose words are its pieces."""
    text = TextSettings(source=WordSettings())
    one = train_tokenizer(text.source, text, texts=[" ".join(WORDS)], size=None)
    settings = TransformerSettings(size=8, encoder_layers=1, decoder_layers=2, attention=AttentionSettings(heads=2))
    told = Description(model=settings, source_vocabulary=None, target_vocabulary=len(one.vocabulary))
    torch.manual_seed(3)
    network = build_model(told).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(3)
    return Translator(Bundle(told, network, Tokenizers(one, one)), device=torch.device("cpu"))


def read_off(model, source, target, by):
    """The links of an attention, the slow way: row t says word t, and row t + 1 reads it."""
    rows = model.explain(source, target).maps.cross_LBHTS[by.layer, 0]
    rows = rows.mean(0) if by.head is None else rows[by.head]
    words = len(target.split())
    rows = rows[1 : words + 1] if by.read else rows[:words]
    links = links_by_target(rows[:, : len(source.split())].numpy())
    return GoldAlignment(links, links)


@pytest.mark.parametrize(
    "by",
    [
        AlignedBy(layer=1),
        AlignedBy(layer=0, read=True),
        AlignedBy(layer=0, head=1),
        AlignedBy(layer=1, head=0, read=True),
    ],
    ids=str,
)
def test_the_attention_that_aligns_is_found(model, by):
    sources, targets = zip(*PAIRS, strict=True)
    gold = [read_off(model, source, target, by) for source, target in PAIRS]
    found = best_attention(model, sources, targets, gold)
    assert found == AlignedBy(layer=by.layer, head=by.head, read=by.read, error_rate=0.0)


def test_pairs_and_gold_go_together(model):
    with pytest.raises(DataError, match="2 sources, 2 targets and 0 alignments"):
        best_attention(model, ["a", "b"], ["a", "b"], [])
