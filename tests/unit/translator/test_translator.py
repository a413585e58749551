"""Translators: what comes back, in which order, whatever shares the batch."""

from __future__ import annotations

import random
import threading

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.bundle import AlignedBy
from dragoman.decoding.beam import BeamSettings
from dragoman.decoding.contrastive import ContrastiveSettings
from dragoman.decoding.diverse import DiverseSettings
from dragoman.decoding.exact import ExactSettings
from dragoman.decoding.filters import FilterSettings, LengthLimits
from dragoman.decoding.greedy import GreedySettings
from dragoman.decoding.mbr import MbrSettings
from dragoman.decoding.sample import SampleSettings
from dragoman.errors import DataError, ModelError, SettingError
from dragoman.models.features import FeatureSettings
from dragoman.models.rnn import RecurrentSettings
from dragoman.translator import Alignments, Batching, Blocklist, Glossary, LanguageModel, Request, Translator
from dragoman.translator.forced import token_log_probs
from dragoman.translator.reader import Reader

SHORT = FilterSettings(lengths=LengthLimits(most=6))
SEARCHES = {
    "greedy": GreedySettings(filters=SHORT),
    "beam": BeamSettings(beam=3, nbest=2, filters=SHORT),
    "gnmt": BeamSettings(beam=3, alpha=0.6, normalization="gnmt", filters=SHORT),
    "diverse": DiverseSettings(beam=4, groups=2, filters=SHORT),
    "sample": SampleSettings(seed=3, nbest=2, filters=SHORT),
    "contrastive": ContrastiveSettings(filters=SHORT),
    "coverage": BeamSettings(beam=2, coverage=0.2, filters=SHORT),
    "mbr": MbrSettings(samples=6, seed=1, filters=SHORT),
}


def outcome(translation):
    return translation.text, pytest.approx(translation.score, abs=1e-4)


@pytest.mark.parametrize("family", ["recurrent", "transformer", "prefix_lm"])
@pytest.mark.parametrize("name", SEARCHES)
def test_a_sentence_does_not_know_what_shares_its_batch(tiny, family, name):
    if family == "prefix_lm" and name == "coverage":
        pytest.skip("a prefix model shows no attention step by step")
    few = tiny.sentences[:: 3 if name == "beam" else 8]
    bundle = tiny.bundle(family)
    alone = [
        Translator(bundle, device=torch.device("cpu"), batching=Batching(places=1, window=1)).translate(
            text, decoding=SEARCHES[name]
        )
        for text in few
    ]
    shuffled = random.Random(0).sample(range(len(few)), len(few))
    for places, order in ((7, range(len(few))), (64, shuffled)):
        crowd = Translator(bundle, device=torch.device("cpu"), batching=Batching(places=places))
        found = crowd.translate([few[i] for i in order], decoding=SEARCHES[name])
        for place, translation in zip(order, found, strict=True):
            assert translation.source == few[place]
            assert outcome(translation) == outcome(alone[place])
            assert [a.text for a in translation.alternatives] == [a.text for a in alone[place].alternatives]


def _many_alike(tiny, count):
    noise = random.Random(5)
    texts = [" ".join(noise.choices(tiny.words, k=noise.randint(1, 12))) for _ in range(count)]
    bundle, search = tiny.bundle("transformer"), BeamSettings(beam=2, filters=SHORT)
    by_batch = []
    for places in (1, 7, 64):
        model = Translator(bundle, device=torch.device("cpu"), batching=Batching(places=places))
        by_batch.append(model.translate(texts, decoding=search))
    order = noise.sample(range(count), count)
    mixed = Translator(bundle, device=torch.device("cpu")).translate([texts[i] for i in order], decoding=search)
    by_batch.append([t for _, t in sorted(zip(order, mixed, strict=True), key=lambda pair: pair[0])])
    for found in by_batch[1:]:
        for one, other in zip(by_batch[0], found, strict=True):
            assert one.text == other.text
            assert abs(one.score - other.score) < 1e-4


def test_many_sentences_alone_and_in_batches(tiny):
    _many_alike(tiny, 300)


@pytest.mark.slow
def test_ten_thousand_sentences_alone_and_in_batches(tiny):
    _many_alike(tiny, 10_000)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(max_size=30), max_size=8))
def test_any_text_has_its_translation_in_its_place(tiny, texts):
    found = tiny.translator("recurrent").translate(texts, decoding=GreedySettings(filters=SHORT))
    assert [t.source for t in found] == texts


def test_empty_long_and_odd_lines(tiny):
    long = ("the cat sat on a mat . " * 500)[:10_000]
    odd = ["", "   ", "\x00\x01", "😀 👩‍👩‍👧", "你好。再见。", "a\u2028b", "the", long, long.replace(" ", ""), "\u200b"]
    model = tiny.translator("transformer", batching=Batching(longest=20))
    found = model.translate(odd, decoding=GreedySettings(filters=SHORT))
    assert [t.source for t in found] == odd
    assert [found[i].text for i in (0, 1, 2, 9)] == [""] * 4
    assert "split" in found[7].notes
    assert len(found[7].tokens) > 500
    assert found[7].log_prob == pytest.approx(sum(t.log_prob for t in found[7].tokens), abs=1e-2)


def test_a_long_text_is_the_sum_of_its_parts(tiny):
    parts = ["the cat sat on a mat ?", "my dog ate red pie ?", "nobody saw it ?"]
    model = tiny.translator("recurrent", batching=Batching(longest=8))
    whole = model.translate("  ".join(parts), decoding=GreedySettings(), request=Request(alignments=Alignments()))
    alone = model.translate(parts, decoding=GreedySettings(), request=Request(alignments=Alignments()))
    assert whole.text == "  ".join(t.text for t in alone)
    assert whole.log_prob == pytest.approx(sum(t.log_prob for t in alone), abs=1e-4)
    before = len(parts[0].split()), len(alone[0].text.split())
    assert {(s + before[0], t + before[1]) for s, t in alone[1].alignment} <= set(whole.alignment)


def test_translations_stream_as_texts_come_in(tiny):
    asked = []

    def texts():
        for text in tiny.sentences[:5]:
            asked.append(text)
            yield text

    model = tiny.translator("recurrent", batching=Batching(window=1))
    stream = model.stream(texts(), beam=2)
    assert not asked
    next(stream)
    assert len(asked) == 1
    assert not torch.is_inference_mode_enabled()
    assert len(list(stream)) == 4


@pytest.mark.parametrize("family", ["recurrent", "transformer", "prefix_lm"])
def test_scores_are_what_the_search_found(tiny, family):
    model = tiny.translator(family)
    texts = [text for text in tiny.sentences if text][:20]
    vocabulary = model.bundle.tokenizers.target.vocabulary.pieces
    reader = Reader(model.bundle, torch.device("cpu"))
    found = model.translate(texts, decoding=SampleSettings(seed=1))
    ids = [[vocabulary.index(token.text) for token in each.tokens] for each in found]
    forced = token_log_probs([reader], [[reader.read(text) for text in texts]], ids)
    for each, expected in zip(found, forced, strict=True):
        assert [t.log_prob for t in each.tokens] == pytest.approx(expected, rel=1e-4, abs=1e-4)
        assert each.log_prob == pytest.approx(sum(expected), rel=1e-5, abs=1e-4)


def test_a_text_has_the_score_of_the_search_that_said_it(tiny):
    model = tiny.translator("recurrent")
    texts = [text for text in tiny.sentences if text][:10]
    search = BeamSettings(beam=2, filters=SHORT)
    found = model.translate(texts, prefixes=["my dog ate"] * 10, decoding=search)
    scores = model.score(texts, [" ".join("".join(t.text for t in f.tokens[:3]).split("\u2581")) for f in found])
    for each, score in zip(found, scores, strict=True):
        said = [t.log_prob for t in each.tokens[:3]]
        assert [t.log_prob for t in score.tokens[:3]] == pytest.approx(said, abs=1e-4)
        assert score.log_prob == pytest.approx(sum(t.log_prob for t in score.tokens))
        assert score.tokens[-1].text == "</s>"


def test_scores_do_not_depend_on_the_batch_and_keep_their_order(tiny):
    model = tiny.translator("transformer", batching=Batching(tokens=100))
    sources, targets = tiny.sentences[:30], tiny.sentences[5:35]
    together = model.score(sources, targets)
    alone = [model.score([s], [t])[0] for s, t in zip(sources, targets, strict=True)]
    assert [s.log_prob for s in together] == pytest.approx([s.log_prob for s in alone], rel=2e-5)
    assert together[0].perplexity == pytest.approx(np.exp(-together[0].log_prob / len(together[0].tokens)))
    assert model.score(["", "the"], ["", ""])[0].log_prob < 0
    assert model.score([], []) == []
    with pytest.raises(DataError, match="2 sources and 1 targets"):
        model.score(["a", "b"], ["a"])


def test_exact_search_says_whether_it_has_proven(tiny):
    model = tiny.translator("recurrent", sharpness=3.0)
    exact = ExactSettings(alpha=0.0, filters=FilterSettings(lengths=LengthLimits(most=4)))
    beam = BeamSettings(beam=1, alpha=0.0, filters=exact.filters)
    for one, other in zip(
        model.translate(tiny.sentences[:4], decoding=exact),
        model.translate(tiny.sentences[:4], decoding=beam),
        strict=True,
    ):
        assert one.proven is True
        assert one.log_prob >= other.log_prob - 1e-5 or not other.best.finished
        assert other.proven is None
    given_up = model.translate(tiny.sentences[:1], decoding=ExactSettings(expansions=1))[0]
    assert given_up.proven is False


def test_minimum_bayes_risk_takes_the_sample_most_like_the_others(tiny):
    from dragoman.measures.sentence import sentence_metric, utilities

    model = tiny.translator("recurrent")
    text = tiny.sentences[5]
    samples = model.translate(text, decoding=SampleSettings(nbest=8, seed=4))
    texts = [samples.text, *(a.text for a in samples.alternatives)]
    expected = utilities(sentence_metric("chrf"), texts, texts).mean(1)
    best = model.translate(text, decoding=MbrSettings(samples=8, seed=4, nbest=3))
    assert best.text == texts[int(expected.argmax())]
    assert best.score == pytest.approx(expected.max())
    assert len({best.text, *(a.text for a in best.alternatives)}) == 1 + len(best.alternatives) <= 3


def test_minimum_bayes_risk_by_any_measure(tiny):
    model = tiny.translator("recurrent")
    search = MbrSettings(samples=8, seed=4, nbest=8)
    wanted = Request(likeness=lambda one, _other: -len(one))  # whatever the others are: the shortest
    found = model.translate(tiny.sentences[5], decoding=search, request=wanted)
    lengths = [len(found.text), *(len(a.text) for a in found.alternatives)]
    assert lengths == sorted(lengths)
    assert found.score == -lengths[0]
    assert len(set(lengths)) > 1


def test_models_of_several_languages_are_told_which_one(tiny):
    bundle = tiny.bundle(symbols=("<2de>", "<2fr>"))
    model = Translator(bundle, device=torch.device("cpu"))
    with pytest.raises(SettingError, match="this model translates into de, fr"):
        model.translate("the cat")
    with pytest.raises(SettingError, match="does not know 'it'"):
        model.translate("the cat", request=Request(target_language="it"))
    by_option = model.translate("the cat", beam=2, request=Request(target_language="fr"))
    assert model.translate("<2fr> the cat", beam=2).source == "<2fr> the cat"
    other = model.translate("the cat", beam=2, request=Request(target_language="de"))
    assert other.log_prob != pytest.approx(by_option.log_prob)
    scores = [model.score(["the cat"], ["my dog"], target_language=each)[0].log_prob for each in ("de", "fr")]
    assert scores[0] != pytest.approx(scores[1])
    assert model.explain("the cat", "my dog", target_language="de").source[0] == "<2de>"


def test_a_translator_into_a_language_needs_no_more_telling(tiny):
    model = Translator(tiny.bundle(symbols=("<2de>", "<2fr>")), device=torch.device("cpu"))
    french = model.into("fr")
    assert french.translate("the cat", beam=2) == model.translate(
        "the cat", beam=2, request=Request(target_language="fr")
    )
    assert french.score(["the cat"], ["my dog"]) == model.score(["the cat"], ["my dog"], target_language="fr")
    german = model.score(["the cat"], ["my dog"], target_language="de")
    assert french.score(["the cat"], ["my dog"], target_language="de") == german
    with pytest.raises(SettingError, match="does not know 'it'"):
        model.into("it")
    with pytest.raises(SettingError, match="this model translates into de, fr"):
        model.translate("the cat")


def test_a_language_tag_is_no_word(tiny):
    model = Translator(tiny.bundle("transformer", symbols=("<2de>", "<2fr>")), device=torch.device("cpu"))
    request = Request(target_language="de", alignments=Alignments(layer=0))
    for each in model.translate(tiny.sentences[:9], beam=2, request=request):
        explained = model.explain(each.source, each.text, layer=0, target_language="de")
        looks = explained.maps.cross_LBHTS[0, 0].mean(0)[:, 1:]  # without the tag
        for source, target in each.alignment:
            assert int(looks[target, : len(each.source.split())].argmax()) == source


def test_prefixes_glossaries_and_banned_words(tiny):
    model = tiny.translator("recurrent")
    texts = tiny.sentences[:6]
    found = model.translate(texts, prefixes=["my dog"] * 5 + [""], beam=3)
    assert all(t.text.startswith("my dog") for t in found[:5])
    glossary = Glossary.of({"cat": ["red pie", "nobody"], "unicorn": "7"})
    for translation in model.translate(texts, beam=3, request=Request(glossary=glossary)):
        if "cat" in translation.source.split():
            assert "red pie" in translation.text or "nobody" in translation.text
    plain = model.translate(texts, beam=3)
    word = plain[0].text.split()[0]
    assert all(word not in t.text.split() for t in model.translate(texts, beam=3, request=Request(banned=(word,))))
    with pytest.raises(DataError, match="1 prefixes for 2 texts"):
        model.translate(["a", "b"], prefixes=["c"])


def test_words_that_a_model_does_not_have_cannot_be_asked_for(tiny):
    model = tiny.translator("recurrent")
    with pytest.raises(DataError, match=r"glossary: cat: 'chat \| unicorn' has words that are not in the model's"):
        model.translate("the dog", request=Request(glossary=Glossary.of({"cat": ["chat", "unicorn"]})))
    with pytest.raises(DataError, match=r"prefix: 'my unicorn' has words"):
        model.translate(["the dog"], prefixes=["my unicorn"])
    some = Request(glossary=Glossary.of({"cat": ["unicorn", "red pie"]}), banned=("unicorn",))
    assert "red pie" in model.translate("the cat", request=some).text
    unknown = tiny.translator("recurrent", sharpness=4.0)
    texts = tiny.sentences[:20]
    plain = unknown.translate(texts)
    assert any("<unk>" in each.text for each in plain)
    assert unknown.translate(texts, request=Request(banned=("unicorn",))) == plain  # not every unknown word is banned
    assert tiny.translator("recurrent_lm").generate(["my unicorn"])[0].text.startswith("my <unk>")


def test_a_glossary_that_needs_more_room_gets_it(tiny):
    tight = BeamSettings(filters=FilterSettings(lengths=LengthLimits(most=1)))
    request = Request(glossary=Glossary.of({"cat": "my dog ate red pie"}))
    assert "my dog ate red pie" in tiny.translator("recurrent").translate("cat", decoding=tight, request=request).text


def test_lengths_stay_within_their_limits(tiny):
    limits = LengthLimits(least=4, most=7)
    for search in (GreedySettings, BeamSettings, SampleSettings):
        model = tiny.translator("recurrent")
        for each in model.translate(tiny.sentences[:9], decoding=search(filters=FilterSettings(lengths=limits))):
            assert 4 <= len(each.tokens) <= 7
            assert ("unfinished" in each.notes) == (not each.best.finished)


def test_filters_that_leave_nothing(tiny):
    model = tiny.translator("recurrent")
    pieces = model.bundle.tokenizers.target.vocabulary.pieces
    everything = Request(banned=tuple(p.replace("\u2581", " ") for p in pieces[4:]) + tuple(tiny.words))
    least = GreedySettings(filters=FilterSettings(lengths=LengthLimits(least=3)))
    found = model.translate(["the cat", ""], decoding=least, request=everything)
    if found[0].text.replace("<unk>", ""):
        pytest.fail(f"{found[0].text!r} holds what is banned")
    assert found[1].text == ""


def test_alignments_are_of_words_and_by_layer(tiny):
    model = tiny.translator("transformer")
    for method in (None, "intersection", "union", "grow-diag"):
        request = Request(alignments=Alignments(layer=0, symmetrization=method))
        for each in model.translate(tiny.sentences[:20], beam=2, request=request):
            sources, targets = len(each.source.split()), len(each.text.split())
            assert all(s < sources and t < targets for s, t in each.alignment)
            if method is None:
                assert {t for _, t in each.alignment} == set(range(targets))
    with pytest.raises(ModelError, match="there is no layer 5 among 2"):
        model.translate("the cat", request=Request(alignments=Alignments(layer=5)))
    (whole,) = model.translate(["the cat sat"], beam=2, request=Request(alignments=Alignments(layer=0)))
    chosen = Translator(tiny.bundle("transformer", alignment=AlignedBy(layer=0)), device=torch.device("cpu"))
    (same,) = chosen.translate(["the cat sat"], beam=2, request=Request(alignments=Alignments()))
    assert same.alignment == whole.alignment
    with pytest.raises(ModelError, match="no attention over a source"):
        tiny.translator(settings=RecurrentSettings(size=8, attention=None)).translate(
            "the", request=Request(alignments=Alignments())
        )


def test_unknown_words_are_copied_from_where_they_look(tiny):
    model = tiny.translator("recurrent")
    with torch.no_grad():
        model.bundle.model.output.bias[1] += 50  # nothing is as probable as the unknown word
    limits = GreedySettings(filters=FilterSettings(lengths=LengthLimits(most=3)))
    plain = model.translate("Zanzibar", decoding=limits)
    assert "<unk>" in plain.text
    copied = model.translate("Zanzibar", decoding=limits, request=Request(copy_unknown=True))
    assert "<unk>" not in copied.text
    assert "Zanzibar" in copied.text


def test_guards_block_texts_and_outputs(tiny):
    model = tiny.translator("recurrent")
    texts = ["the cat sat", "my dog"]
    blocked, fine = model.translate(texts, request=Request(input_guard=Blocklist(["CAT  sat"])))
    assert (blocked.text, blocked.warnings) == ("", ("blocked_input",))
    assert "blocked_input" not in fine.warnings
    plain = model.translate(texts, beam=3, nbest=3)
    second = model.translate(
        texts, beam=3, nbest=3, request=Request(output_guard=lambda t: "no" if t == plain[0].text else None)
    )
    assert second[0].text == plain[0].alternatives[0].text
    none = model.translate(texts, request=Request(output_guard=lambda _: "never"))
    assert [(t.text, t.warnings) for t in none] == [("", ("blocked_output",))] * 2


def test_warnings_tell_of_lost_numbers(tiny):
    model = tiny.translator("recurrent")
    found = model.translate("Ann met 1984", request=Request(banned=("1984",)))
    assert "numbers" in found.warnings


@pytest.mark.parametrize("family", ["transformer_lm", "recurrent_lm"])
def test_language_models_go_on_and_score(tiny, family):
    model = tiny.translator(family)
    texts = model.generate(["the cat", "", "my"], decoding=SampleSettings(seed=2, filters=SHORT))
    assert texts[0].text.startswith("the cat")
    assert texts[0].notes == () or texts[0].notes == ("unfinished",)
    assert texts[0].warnings == texts[0].notes
    whole = [t for t in texts if t.best.finished and "<unk>" not in t.text]
    for each, score in zip(whole, model.score(None, [t.text for t in whole]), strict=True):
        if len(score.tokens) == len(each.tokens):
            assert score.log_prob == pytest.approx(each.log_prob, abs=1e-4)
    with pytest.raises(ModelError, match="a language model has no source"):
        model.translate("the")
    with pytest.raises(ModelError, match="this model needs a source"):
        tiny.translator("recurrent").generate(["the"])


def test_contrastive_search_refuses_a_model_that_shows_nothing(tiny):
    with pytest.raises(ModelError, match="hidden states"):
        tiny.translator("recurrent_lm").generate(["the"], decoding=ContrastiveSettings())


def test_sources_of_features(tiny, tmp_path):
    settings = RecurrentSettings(size=8, features=FeatureSettings(size=3))
    model = Translator(tiny.bundle(settings=settings, features=True), device=torch.device("cpu"))
    names = []
    for n, length in enumerate((4, 1, 9)):
        names.append(str(tmp_path / f"{n}.npy"))
        np.save(names[-1], np.random.default_rng(n).normal(size=(length, 3)).astype("float32"))
    together = model.translate(names, beam=2)
    assert [t.source for t in together] == names
    assert [t.text for t in together] == [model.translate(name, beam=2).text for name in names]
    assert together[0].findings() == ()
    assert model.score(names, ["the cat"] * 3)[0].log_prob < 0
    with pytest.raises(DataError, match=r"missing.npy: cannot be read as an array"):
        model.translate(str(tmp_path / "missing.npy"))


def test_ensembles_score_by_the_mean_of_probabilities(tiny):
    one, two = tiny.bundle(seed=1), tiny.bundle("transformer", seed=2)
    both = Translator(one, two, device=torch.device("cpu"))
    alone = [Translator(b, device=torch.device("cpu")).score(["the cat"], ["my dog"])[0] for b in (one, two)]
    expected = [
        np.log((np.exp(a.log_prob) + np.exp(b.log_prob)) / 2)
        for a, b in zip(alone[0].tokens, alone[1].tokens, strict=True)
    ]
    together = both.score(["the cat"], ["my dog"])[0]
    assert [t.log_prob for t in together.tokens] == pytest.approx(expected, abs=1e-4)
    found = both.translate(tiny.sentences[:6], decoding=SampleSettings(seed=1))
    twice = Translator(one, one, device=torch.device("cpu")).translate(tiny.sentences[:6], beam=2)
    once = Translator(one, device=torch.device("cpu")).translate(tiny.sentences[:6], beam=2)
    assert [outcome(t) for t in twice] == [outcome(t) for t in once]
    assert len(found) == 6
    with pytest.raises(ModelError, match="different kinds of source"):
        Translator(one, tiny.bundle("recurrent_lm"), device=torch.device("cpu"))


def test_explanations_have_maps_and_words(tiny):
    model = tiny.translator("transformer")
    explained = model.explain("the cat sat", "my dog")
    assert explained.target[-1] == "</s>"
    assert explained.maps.cross_LBHTS.shape == (2, 1, 2, 3, len(explained.source))
    assert {t for _, t in explained.alignment} == {0, 1}


def test_several_threads_get_what_one_gets(tiny):
    model = tiny.translator("transformer")
    texts = tiny.sentences[:20]
    expected = [t.text for t in model.translate(texts, beam=2)]
    found = {}

    def work(n):
        found[n] = [t.text for t in model.translate(texts, beam=2)]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found[n] == expected for n in range(4))


def test_options_that_mean_nothing_to_a_search_are_refused(tiny):
    with pytest.raises(SettingError, match="beam means nothing to a search of kind 'greedy'"):
        tiny.translator("recurrent").translate("the", decoding=GreedySettings(), beam=3)


def test_a_language_model_has_a_say_by_its_weight(tiny):
    bundle, helper = tiny.bundle(seed=1), tiny.bundle("recurrent_lm", seed=2)
    device = torch.device("cpu")
    plain, alone = Translator(bundle, device=device), Translator(helper, device=device)
    for weight in (0.3, 3.0):
        model = Translator(bundle, device=device, language_model=LanguageModel(helper, weight))
        (score,) = model.score(["the cat"], ["my dog"])
        both = zip(plain.score(["the cat"], ["my dog"])[0].tokens, alone.score(None, ["my dog"])[0].tokens, strict=True)
        assert [t.log_prob for t in score.tokens] == pytest.approx(
            [p.log_prob + weight * q.log_prob for p, q in both], abs=1e-4
        )
        for name in ("beam", "sample", "contrastive", "coverage"):
            for each in model.translate(tiny.sentences[:5], decoding=SEARCHES[name]):
                if each.best.finished and "<unk>" not in each.text:
                    again = model.score([each.source], [each.text])[0]
                    if len(again.tokens) == len(each.tokens):
                        assert again.log_prob == pytest.approx(each.log_prob, abs=1e-4)
    assert [t.text for t in model.translate(tiny.sentences, beam=2)] != [
        t.text for t in plain.translate(tiny.sentences, beam=2)
    ]


def test_language_models_that_cannot_help_are_refused(tiny):
    device = torch.device("cpu")
    with pytest.raises(ModelError, match="this is no language model"):
        Translator(tiny.bundle(), device=device, language_model=LanguageModel(tiny.bundle()))
    helper = tiny.bundle("recurrent_lm")
    with pytest.raises(ModelError, match="only a model with a source"):
        Translator(helper, device=device, language_model=LanguageModel(helper))
    with pytest.raises(SettingError, match="0 is no weight"):
        LanguageModel(tiny.bundle("recurrent_lm"), 0)
