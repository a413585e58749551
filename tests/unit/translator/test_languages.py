"""Models that are told languages by pieces, with nothing to fall back on."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
import torch

from dragoman.bundle import SOURCE_TAG, TARGET_TAG, Frame
from dragoman.decoding.greedy import GreedySettings
from dragoman.errors import SettingError
from dragoman.text.vocabulary import SPECIAL
from dragoman.translator import Alignments, Request, Translator
from reference.bundles import bundle, tokenizers

ENGLISH, FRENCH = tokenizers().target.vocabulary.pieces[len(SPECIAL) + 6 :][:2]
FRAME = Frame(before=(SOURCE_TAG,), first=(TARGET_TAG,), languages={"en": ENGLISH, "fr": FRENCH})


@pytest.fixture
def model():
    """A model that no languages were named for when it was imported."""
    one = bundle(frame=FRAME)
    without = msgspec.structs.replace(one.description, source_language="", target_language="")
    return Translator(replace(one, description=without), device=torch.device("cpu"))


def test_a_request_says_all_that_alignments_need(model):
    request = Request(source_language="en", target_language="fr", alignments=Alignments())
    found = model.translate("I see a cat.", decoding=GreedySettings(), request=request)
    assert {link.source for link in found.alignment} <= set(range(4))
    with pytest.raises(SettingError, match="the source language is not said"):
        model.translate("I see a cat.", request=Request(target_language="fr"))
