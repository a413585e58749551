"""Text settings: what contradicts itself, what sizes are chosen, joint and separate vocabularies."""

from __future__ import annotations

import pytest

from dragoman.errors import SettingError, TextError
from dragoman.settings import decode
from dragoman.text import build
from dragoman.text.build import TextSettings, train_tokenizers


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"target": {"kind": "words"}}, r"text.toml: joint: .*Set joint = false"),
        ({"target_vocabulary_size": 100}, r"text.toml: target_vocabulary_size: a joint vocabulary has one size"),
        ({"source": {"kind": "symbols"}, "normalization": {"spaces": "keep"}}, r"normalization.spaces: .*'collapse'"),
        ({"symbols": ["a b"]}, r"'a b' cannot be a symbol"),
        ({"symbols": ["<s>"]}, r"'<s>' cannot be a symbol"),
        ({"symbols": ["x", "x"]}, r"named twice"),
        ({"symbols": ["e\u0301"]}, r"altered by the normalisation"),
        ({"source": {"kind": "bpe", "dropout": 1.5}}, r"text.toml: source.dropout: .*got 1.5.*< 1"),
        ({"vocabulary_sise": 100}, r"Did you mean 'vocabulary_size'"),
    ],
)
def test_contradictions_are_found_before_any_text_is_read(document, message):
    with pytest.raises(SettingError, match=message):
        decode(document, TextSettings, place="text.toml")


def test_joint_means_one_tokenizer(texts):
    both = train_tokenizers(TextSettings(vocabulary_size=400), sources=texts[:3], targets=texts[3:])
    assert both.joint
    assert both.source.vocabulary["é"] != 1


def test_separate_sides_have_vocabularies_of_their_own(texts):
    settings = decode(
        {"joint": False, "source": {"kind": "characters"}, "target": {"kind": "symbols"}, "target_vocabulary_size": 8},
        TextSettings,
    )
    sides = train_tokenizers(settings, sources=texts, targets=["a b c d e f", "a b"])
    assert not sides.joint
    assert sides.target.vocabulary.pieces[4:] == ("a", "b", "c", "d")
    assert len(sides.source.vocabulary) > 40


def test_a_size_is_chosen_when_none_is_given(texts):
    tokenizer = train_tokenizers(TextSettings(), sources=texts, targets=texts).source
    assert 300 < len(tokenizer.vocabulary) <= 760


@pytest.mark.parametrize(("written", "message"), [("{", "damaged"), ('{"format":9}', "damaged")])
def test_a_damaged_description_is_refused(tmp_path, written, message):
    (tmp_path / "tokenizer.json").write_text(written)
    with pytest.raises(TextError, match=message):
        build.load(tmp_path)


def test_a_newer_format_is_refused(texts, tmp_path):
    tokenizer = train_tokenizers(TextSettings(source=build.CharacterSettings()), sources=texts, targets=texts).source
    build.save(tokenizer, tmp_path)
    path = tmp_path / "tokenizer.json"
    path.write_text(path.read_text().replace('"format": 1', '"format": 2'))
    with pytest.raises(TextError, match="newer version"):
        build.load(tmp_path)
