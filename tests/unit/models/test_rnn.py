"""The recurrent encoder-decoder: against plain loops, and as a model behind the seam."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from msgspec.structs import replace

from dragoman.errors import ModelError, SettingError
from dragoman.models import presets
from dragoman.models.features import FeatureSettings
from dragoman.models.recurrence import RecurrentDropoutSettings
from dragoman.models.rnn import RecurrentAttentionSettings, RecurrentSettings, recurrent
from dragoman.models.seq2seq import Source
from reference import recurrent as reference

SCORES = ["dot", "scaled_dot", "general", "concat", "additive"]
CELLS = ["vanilla", "gru", "lstm"]
WORDS = 20
LENGTHS, TARGET_LENGTHS = torch.tensor([6, 3, 5]), torch.tensor([4, 5, 2])


def _attention(form, score="general", **rest):
    if form == "none":
        return None
    return RecurrentAttentionSettings(
        score=score, form=form.removesuffix("_feeding"), input_feeding=form.endswith("feeding"), **rest
    )


def _settings(cell="gru", form="luong", score="general", **rest):
    """Small settings in which every score finds keys of the queries' size."""
    direction = rest.pop("direction", "both")
    return RecurrentSettings(
        cell=cell,
        size=8,
        encoder_size=4 if direction == "both" else 8,
        embedding_size=6,
        direction=direction,
        attention=_attention(form, score),
        **{"layers": 2, "readout": "maxout" if form == "bahdanau" else "tanh", **rest},
    )


def _model(settings, dtype=torch.float32, words=WORDS):
    torch.manual_seed(6)
    model = recurrent(settings, source_vocabulary=words, target_vocabulary=WORDS).to(dtype).eval()
    for parameter in model.parameters():  # biases and embeddings that would hide nothing
        torch.nn.init.normal_(parameter, std=0.4)
    return model


def _batch():
    torch.manual_seed(7)
    ids, inputs = torch.randint(4, WORDS, (3, 6)), torch.randint(4, WORDS, (3, 5))
    ids[torch.arange(6) >= LENGTHS[:, None]] = 0
    inputs[torch.arange(5) >= TARGET_LENGTHS[:, None]] = 0
    return Source(LENGTHS, ids), inputs


def _stepped(model, inputs, state):
    """Logits of each step, [B, T, V]."""
    logits = []
    for tokens in inputs.unbind(1):
        row, state = model.step(tokens, state)
        logits.append(row)
    return torch.stack(logits, dim=1)


def _real(logits_BTV):
    return torch.cat([rows[:length] for rows, length in zip(logits_BTV, TARGET_LENGTHS.tolist(), strict=True)])


VARIANTS = [
    *((cell, form, "general", {}) for cell in CELLS for form in ("none", "luong", "luong_feeding", "bahdanau")),
    *(("gru", form, score, {}) for form in ("luong", "luong_feeding", "bahdanau") for score in SCORES),
    ("lstm", "luong_feeding", "dot", {"direction": "backward", "bridge": "copy"}),
    ("lstm", "none", "dot", {"direction": "forward", "bridge": "copy", "readout": "joined", "layers": 3}),
    ("gru", "bahdanau", "additive", {"bridge": "project_backward", "layers": 1}),
    ("gru", "luong", "dot", {"copying": True}),
    ("gru", "bahdanau", "additive", {"copying": True, "readout": "joined"}),
    ("lstm", "luong_feeding", "general", {"copying": True, "encoder_layers": 1}),
    ("gru", "luong", "general", {"shared_embeddings": True, "tied_output": True, "readout_size": 6}),
]


@pytest.fixture(
    params=VARIANTS, ids=lambda v: "-".join(map(str, v[:3])) + "".join(f"-{k}={x}" for k, x in v[3].items())
)
def model(request):
    cell, form, score, rest = request.param
    return _model(_settings(cell, form, score, **rest))


# ---- against plain loops ---------------------------------------------------------------------------------------


def _numpy(tensor):
    return tensor.detach().double().numpy()


def _layer(layer):
    return [_numpy(each) for each in (layer.weight_ih, layer.weight_hh, layer.bias_ih, layer.bias_hh)]


def _score_of(score, name):
    weights = {key: _numpy(value) for key, value in score.named_parameters()}
    match name:
        case "dot" | "scaled_dot":
            return getattr(reference, name)
        case "general":
            return lambda q, k: reference.general(q, k, weights["map.weight"])
        case "concat":
            return lambda q, k: reference.concat(q, k, weights["map.weight"], weights["energy.weight"][0])
    query, key, energy = (weights[f"{each}.weight"] for each in ("query_map", "key_map", "energy"))
    return lambda q, k: reference.additive(q, k, query, key, energy=energy[0])


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("form", ["bahdanau", "luong", "luong_feeding"])
@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
def test_a_decoder_follows_its_formulas(cell, form, score, *, dtype, tolerance):
    model = _model(_settings(cell, form, score, layers=1), dtype)
    source, inputs = _batch()
    state = model.start(source)
    hidden = model.hidden(source, inputs, TARGET_LENGTHS).vectors_ND
    maps = model.attention_weights(source, inputs, TARGET_LENGTHS).cross_LBHTS
    decoder, vectors = model.decoder, model.encoder(source).vectors.vectors_BSD
    weights, formula = _layer(decoder.stack.first), _score_of(decoder.reading.score, score)
    map_out = _numpy(decoder.readout.map.weight)
    expected = []
    for row in range(3):
        embedded = _numpy(decoder.embedding(inputs[row, : TARGET_LENGTHS[row]]))
        keys = _numpy(vectors[row, : LENGTHS[row]])
        start = [
            _numpy(each[row]) for each in (state.carries[0].hidden_RD, state.carries[0].cell_RD) if each is not None
        ]

        def read(query, keys=keys):
            return reference.reading(query, keys, keys, formula)

        if form == "bahdanau":
            steps = reference.bahdanau(cell, embedded, start, weights, read=read)
            bias = _numpy(decoder.readout.map.bias)
            expected += [
                reference.maxout(s, a, e, weight=map_out, bias=bias)
                for (s, a, _), e in zip(steps, embedded, strict=True)
            ]
        else:
            feeding = form == "luong_feeding"
            steps = reference.luong(cell, embedded, start, weights, read=read, map_out=map_out, feeding=feeding)
            expected += [vector for vector, _ in steps]
        attention = _numpy(maps[0, row, 0, : TARGET_LENGTHS[row], : LENGTHS[row]])
        np.testing.assert_allclose(attention, [step[-1] for step in steps], rtol=0, atol=tolerance)
    np.testing.assert_allclose(_numpy(hidden), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("form", ["none", "bahdanau", "luong", "luong_feeding"])
def test_gradcheck(form):
    model = _model(_settings("lstm", form, layers=1), torch.float64)
    source, inputs = _batch()
    parameters = [p for name, p in model.named_parameters() if "output" not in name and "embedding" not in name]

    def function(*_):
        return model.hidden(source, inputs, TARGET_LENGTHS).vectors_ND.sum(1)

    assert torch.autograd.gradcheck(function, parameters, fast_mode=True)


# ---- the seam --------------------------------------------------------------------------------------------------


def test_step_by_step_is_the_full_forward(model):
    source, inputs = _batch()
    full = model.logits(model.hidden(source, inputs, TARGET_LENGTHS))
    torch.testing.assert_close(_real(_stepped(model, inputs, model.start(source))), full, rtol=0, atol=1e-5)


def test_rows_may_be_repeated_dropped_reordered_and_joined(model):
    source, inputs = _batch()
    logits = _stepped(model, inputs, model.start(source))
    _, state = model.step(inputs[:, 0], model.start(source))
    order = torch.tensor([2, 0, 2, 2])
    state = state.select(order)
    row, state = model.step(inputs[order, 1], state)
    torch.testing.assert_close(row, logits[order, 1], rtol=0, atol=1e-5)
    younger = Source(torch.tensor([3, 3]), source.ids_BS[1:2, :3].repeat(2, 1))
    alone, _ = model.step(inputs[1:2, 0], model.start(younger).select(torch.tensor([1])))
    state = state.join(model.start(younger))
    tokens = torch.cat((inputs[order, 2], inputs[1:2, 0].repeat(2)))
    row, state = model.step(tokens, state)
    torch.testing.assert_close(row[:4], logits[order, 2], rtol=0, atol=1e-5)
    torch.testing.assert_close(row[4:], alone.expand(2, -1), rtol=0, atol=1e-5)
    back = torch.tensor([5, 1])
    row, _ = model.step(torch.stack((inputs[1, 1], inputs[0, 3])), state.select(back))
    torch.testing.assert_close(row, torch.stack((logits[1, 1], logits[0, 3])), rtol=0, atol=1e-5)


def test_a_state_stays_as_it_was(model):
    source, inputs = _batch()
    _, state = model.step(inputs[:, 0], model.start(source))
    first, _ = model.step(inputs[:, 1], state)
    model.step(inputs[:, 2], state)
    again, _ = model.step(inputs[:, 1], state)
    assert torch.equal(first, again)


def test_padding_never_matters(model):
    source, inputs = _batch()
    full = model.hidden(source, inputs, TARGET_LENGTHS)
    logits = torch.split(model.logits(full), TARGET_LENGTHS.tolist())
    wider = Source(LENGTHS, torch.nn.functional.pad(source.ids_BS, (0, 3), value=9))
    wide_inputs = torch.nn.functional.pad(inputs, (0, 2), value=9)
    wide = model.logits(model.hidden(wider, wide_inputs, TARGET_LENGTHS))
    torch.testing.assert_close(wide, torch.cat(logits), rtol=0, atol=1e-5)
    for row in range(3):
        alone = Source(LENGTHS[row : row + 1], source.ids_BS[row : row + 1, : LENGTHS[row]])
        length = TARGET_LENGTHS[row : row + 1]
        hidden = model.hidden(alone, inputs[row : row + 1, : int(length)], length)
        torch.testing.assert_close(model.logits(hidden), logits[row], rtol=0, atol=1e-5)


def test_a_later_token_never_changes_an_earlier_logit(model):
    source, inputs = _batch()
    lengths = torch.full((3,), 5)
    before = model.logits(model.hidden(source, inputs, lengths)).view(3, 5, -1)
    changed = inputs.clone()
    changed[:, 3] = (changed[:, 3] + 5) % WORDS
    after = model.logits(model.hidden(source, changed, lengths)).view(3, 5, -1)
    torch.testing.assert_close(before[:, :3], after[:, :3], rtol=0, atol=1e-6)
    assert (before[:, 3] - after[:, 3]).abs().max() > 1e-4


def test_every_parameter_learns(model):
    source, inputs = _batch()
    targets = torch.randint(1, WORDS, (int(TARGET_LENGTHS.sum()),))
    logits = model.logits(model.hidden(source, inputs, TARGET_LENGTHS))
    torch.nn.functional.cross_entropy(logits, targets).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_rows_of_hidden_give_rows_of_logits(model):
    source, inputs = _batch()
    hidden = model.hidden(source, inputs, TARGET_LENGTHS)
    index = torch.tensor([9, 0, 4])
    torch.testing.assert_close(model.logits(hidden.rows(index)), model.logits(hidden)[index])


# ---- attention -------------------------------------------------------------------------------------------------


def test_attention_sums_to_one_and_gives_padding_nothing(model):
    source, inputs = _batch()
    maps = model.attention_weights(source, inputs, TARGET_LENGTHS)
    assert maps.encoder_self_LBHSS is maps.decoder_self_LBHTT is None
    if model.decoder.reading is None:
        assert maps.cross_LBHTS is None
        return
    assert maps.cross_LBHTS.shape == (1, 3, 1, 5, 6)
    torch.testing.assert_close(maps.cross_LBHTS.sum(-1), torch.ones(1, 3, 1, 5))
    padding = torch.arange(6) >= LENGTHS[:, None]
    assert not maps.cross_LBHTS.transpose(0, 1)[padding[:, None, None, None].expand(3, 1, 1, 5, 6)].any()


def test_the_step_by_step_path_of_attention_gives_the_fast_paths_output(model):
    source, inputs = _batch()
    slow = model.decoder(inputs, TARGET_LENGTHS, model.start(source), stepwise=True)
    fast = model.decoder(inputs, TARGET_LENGTHS, model.start(source))
    torch.testing.assert_close(slow.vectors_ND, fast.vectors_ND, rtol=0, atol=1e-5)
    if fast.weights_BTS is not None:
        torch.testing.assert_close(slow.weights_BTS, fast.weights_BTS, rtol=0, atol=1e-5)


@pytest.mark.parametrize("score", ["dot", "scaled_dot"])
def test_dot_attention_adds_no_parameter(score):
    model = _model(_settings(score=score, form="luong", readout="joined"))
    without = _model(_settings(form="none", readout="joined"))
    assert not list(model.decoder.reading.parameters())
    names = [{name for name, _ in each.named_parameters()} for each in (model, without)]
    assert names[0] == names[1]
    grown = sum(p.numel() for p in model.parameters()) - sum(p.numel() for p in without.parameters())
    assert grown == WORDS * 8  # the output layer sees [a; s], where it saw s


@pytest.mark.parametrize("form", ["bahdanau", "luong", "luong_feeding"])
def test_the_highest_layer_asks(form):
    model = _model(_settings(form=form, score="dot"))
    source, inputs = _batch()
    state = model.start(source)
    weights = model.attention_weights(source, inputs, TARGET_LENGTHS).cross_LBHTS[0, :, 0, 0]
    _, after = model.step(inputs[:, 0], state)
    asking = (state if form == "bahdanau" else after).carries[-1].hidden_RD
    vectors = model.encoder(source).vectors.vectors_BSD
    for row, length in enumerate(LENGTHS.tolist()):
        expected = torch.softmax(vectors[row, :length] @ asking[row], dim=0)
        torch.testing.assert_close(weights[row, :length], expected)


def test_values_may_be_a_learned_map():
    settings = _settings(form="bahdanau", score="additive")
    plain = _model(settings)
    mapped = _model(replace(settings, attention=_attention("bahdanau", "additive", value_size=3)))
    source, inputs = _batch()
    assert plain.start(source).memory.layers[0][1].shape == (3, 1, 6, 8)
    assert mapped.start(source).memory.layers[0][1].shape == (3, 1, 6, 3)
    full = mapped.logits(mapped.hidden(source, inputs, TARGET_LENGTHS))
    torch.testing.assert_close(_real(_stepped(mapped, inputs, mapped.start(source))), full, rtol=0, atol=1e-5)
    vectors = mapped.encoder(source).vectors.vectors_BSD
    torch.testing.assert_close(
        mapped.start(source).memory.layers[0][1][:, 0], mapped.decoder.reading.value_map(vectors)
    )


def test_the_memory_is_kept_once_for_all_hypotheses_and_dropped_with_the_last():
    model = _model(_settings())
    source, inputs = _batch()
    state = model.start(source)
    beams = state.select(torch.arange(3).repeat_interleave(4))
    assert beams.memory.layers[0][0].data_ptr() == state.memory.layers[0][0].data_ptr()
    logits, _ = model.step(inputs[:, 0].repeat_interleave(4), beams)
    single, _ = model.step(inputs[:, 0], state)
    torch.testing.assert_close(logits, single.repeat_interleave(4, dim=0), rtol=0, atol=1e-5)
    assert beams.select(torch.tensor([4, 5])).memory.layers[0][0].shape[0] == 1


# ---- training and settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["none", "bahdanau", "luong", "luong_feeding"])
@pytest.mark.parametrize("variational", [False, True])
def test_dropout_strikes_in_training_alone(form, variational):
    drops = RecurrentDropoutSettings(
        hidden=0.3, variational=variational, recurrent=0.2, source_words=0.1, target_words=0.1
    )
    model = _model(_settings(form=form, dropout=drops))
    source, inputs = _batch()
    assert torch.equal(*(model.hidden(source, inputs, TARGET_LENGTHS).vectors_ND for _ in range(2)))
    model.train()
    assert not torch.equal(*(model.hidden(source, inputs, TARGET_LENGTHS).vectors_ND for _ in range(2)))


@pytest.mark.parametrize("stepwise", [False, True])
@pytest.mark.parametrize("form", ["none", "bahdanau", "luong", "luong_feeding"])
def test_the_decoders_outputs_are_dropped_before_anything_reads_them(form, stepwise):
    class Hidden(torch.nn.Module):
        def forward(self, values):
            return 0 * values

    model = _model(_settings(form=form, readout="joined"))
    source, inputs = _batch()
    state = model.start(source)
    model.decoder.dropout = Hidden()
    vectors = model.decoder(inputs, TARGET_LENGTHS, state, stepwise=stepwise).vectors_ND
    assert not vectors[:, -8:].any()  # [a; s]: what was read, then the state
    assert form == "none" or vectors[:, :-8].any()


@pytest.mark.parametrize("form", ["bahdanau", "luong"])
@pytest.mark.parametrize("cell", CELLS)
def test_autocast_stays_near_float32(form, cell):
    model = _model(_settings(cell, form))
    source, inputs = _batch()
    plain = model.logits(model.hidden(source, inputs, TARGET_LENGTHS))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough = model.logits(model.hidden(source, inputs, TARGET_LENGTHS))
    rough.float().sum().backward()
    torch.testing.assert_close(rough.float(), plain, rtol=0.1, atol=0.15)


@pytest.mark.parametrize("form", ["none", "luong_feeding"])
def test_features_are_a_source_too(form):
    model = _model(_settings(form=form, features=FeatureSettings(size=5, halvings=1)))
    torch.manual_seed(1)
    source = Source(torch.tensor([7, 4]), features_BSF=torch.randn(2, 7, 5))
    inputs, lengths = torch.randint(4, WORDS, (2, 3)), torch.tensor([3, 3])
    full = model.logits(model.hidden(source, inputs, lengths)).view(2, 3, -1)
    torch.testing.assert_close(_stepped(model, inputs, model.start(source)), full, rtol=0, atol=1e-5)
    alone = Source(torch.tensor([4]), features_BSF=source.features_BSF[1:, :4])
    logits = model.logits(model.hidden(alone, inputs[1:], lengths[1:]))
    torch.testing.assert_close(logits, full[1], rtol=0, atol=1e-5)


def test_words_of_another_vocabulary_are_copied_through_a_map():
    settings = _settings(copying=True)
    ids = torch.arange(30) % WORDS
    model = recurrent(settings, source_vocabulary=30, target_vocabulary=WORDS, copied_ids=ids).eval()
    source = Source(torch.tensor([3]), torch.tensor([[25, 26, 27]]))
    logits, _ = model.step(torch.tensor([2]), model.start(source))
    torch.testing.assert_close(logits.exp().sum(), torch.tensor(1.0))
    with pytest.raises(ModelError, match="needs a map"):
        recurrent(settings, source_vocabulary=30, target_vocabulary=WORDS)


def test_shared_embeddings_are_one_table():
    model = _model(_settings(shared_embeddings=True))
    assert model.encoder.embedding.embedding.weight is model.decoder.embedding[0].weight
    with pytest.raises(ModelError, match="joint vocabulary"):
        recurrent(_settings(shared_embeddings=True), source_vocabulary=3, target_vocabulary=WORDS)


@pytest.mark.parametrize(
    ("build", "key"),
    [
        (lambda: RecurrentAttentionSettings(form="bahdanau", input_feeding=True), "input_feeding"),
        (lambda: RecurrentSettings(copying=True, attention=None), "copying"),
        (lambda: RecurrentSettings(copying=True, features=FeatureSettings(size=3)), "copying"),
        (lambda: RecurrentSettings(shared_embeddings=True, features=FeatureSettings(size=3)), "shared_embeddings"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(build, key):
    with pytest.raises(SettingError) as caught:
        build()
    assert caught.value.place.endswith(key)


@pytest.mark.parametrize(
    ("preset", "form", "parts"),
    [
        (presets.gru_tiny, "luong", {"cell": "gru", "size": 128, "direction": "both"}),
        (
            presets.bahdanau,
            "bahdanau",
            {
                "cell": "gru",
                "size": 1000,
                "embedding_size": 620,
                "readout": "maxout",
                "readout_size": 500,
                "bridge": "project_backward",
                "direction": "both",
            },
        ),
        (
            presets.luong,
            "luong_feeding",
            {"cell": "lstm", "size": 1000, "layers": 4, "readout": "tanh", "direction": "backward"},
        ),
        (presets.sutskever, "none", {"cell": "lstm", "size": 1000, "layers": 4, "direction": "backward"}),
    ],
)
def test_presets_are_the_models_of_the_papers(preset, form, parts):
    settings = preset()
    assert settings.form == form
    assert {name: getattr(settings, name) for name in parts} == parts
    scores = {presets.bahdanau: "additive", presets.luong: "general", presets.sutskever: None}
    assert preset not in scores or scores[preset] == (settings.attention and settings.attention.score)
    model = _model(replace(settings, size=12, embedding_size=10, readout_size=8))
    source, inputs = _batch()
    full = model.logits(model.hidden(source, inputs, TARGET_LENGTHS))
    torch.testing.assert_close(_real(_stepped(model, inputs, model.start(source))), full, rtol=0, atol=1e-5)
