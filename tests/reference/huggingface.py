"""Small models of transformers with random weights, each in a folder as the library itself saves it."""

from __future__ import annotations

import io
import json
import warnings

import sentencepiece
import torch

from reference.bundles import phrases

NUMBERS = {
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "max_position_embeddings": 128,
}
KINDS = (
    "marian",
    "marian_languages",
    "bart",
    "mbart",
    "mbart50",
    "nllb",
    "m2m",
    "t5",
    "t5_v1_1",
    "mt5",
)


def trained(texts, *, size=300, kind="unigram", **numbers):
    """A sentencepiece model of the texts, tidying as most published ones do."""
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=written,
        vocab_size=size,
        model_type=kind,
        minloglevel=2,
        num_threads=1,
        hard_vocab_limit=False,
        normalization_rule_name="nmt_nfkc",
        **numbers,
    )
    return written.getvalue()


def english():
    return [phrase.english for phrase in phrases()]


def french():
    return [phrase.french for phrase in phrases()]


def pieces_of(model):
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(n) for n in range(processor.vocab_size())]


def sharpened(model, seed=0, *, end=None):
    """The model with weights that make it prefer something."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" in name and "learned" not in name and not parameter.requires_grad:
                continue
            parameter.add_(torch.randn_like(parameter) * 0.08).mul_(1.5)
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.normal_()
            if end is not None:
                model.final_logits_bias[0, end] += 3
    return model.eval()


def save(kind, folder, **more):
    """Write a small model of the kind into the folder."""
    import transformers

    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tokenizer, model = globals()[f"_{kind}"](transformers, folder, **more)
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder


def _write(folder, name, value):
    data = value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode()
    (folder / name).write_bytes(data)


# ---- one by one ----------------------------------------------------------------------------------------------------


def _marian(transformers, folder, languages=()):
    source, target = trained(english()), trained(french())
    ordered = ["</s>", "<unk>", *languages, *pieces_of(source), *pieces_of(target)]
    names = [piece for piece in dict.fromkeys(ordered) if piece != "<s>"] + ["<pad>"]
    for name, data in (("source.spm", source), ("target.spm", target)):
        _write(folder, name, data)
    _write(folder, "vocab.json", {piece: n for n, piece in enumerate(names)})
    told = {} if languages else {"source_lang": "en", "target_lang": "fr"}
    tokenizer = transformers.MarianTokenizer(
        str(folder / "source.spm"), str(folder / "target.spm"), str(folder / "vocab.json"), **told
    )
    pad = len(names) - 1
    config = transformers.MarianConfig(
        **NUMBERS,
        vocab_size=len(names),
        pad_token_id=pad,
        decoder_start_token_id=pad,
        eos_token_id=0,
        bos_token_id=0,
        forced_eos_token_id=0,
        scale_embedding=True,
        activation_function="swish",
    )
    model = sharpened(transformers.MarianMTModel(config), end=0)
    model.generation_config = transformers.GenerationConfig(
        num_beams=3, bad_words_ids=[[pad]], pad_token_id=pad, eos_token_id=0, decoder_start_token_id=pad, max_length=64
    )
    return tokenizer, model


def _marian_languages(transformers, folder):
    return _marian(transformers, folder, languages=(">>fra<<", ">>deu<<"))


def _bart(transformers, folder, **more):
    from tokenizers import ByteLevelBPETokenizer

    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    learned = ByteLevelBPETokenizer()
    learned.train_from_iterator([*english(), *french()], vocab_size=360, special_tokens=special, show_progress=False)
    learned.save_model(str(folder))
    tokenizer = transformers.BartTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))
    config = transformers.BartConfig(
        **NUMBERS,
        vocab_size=learned.get_vocab_size(),
        activation_function="gelu",
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        decoder_start_token_id=2,
        forced_bos_token_id=0,
        forced_eos_token_id=2,
        **more,
    )
    return tokenizer, sharpened(transformers.BartForConditionalGeneration(config), end=2)


def _fairseq(model, codes):
    """Pieces as the family of fairseq numbers them."""
    return ["<s>", "<pad>", "</s>", "<unk>", *pieces_of(model)[3:], *codes, "<mask>"]


def _scores(model, codes):
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    names = pieces_of(model)[3:]
    scored = [(piece, processor.get_score(n + 3)) for n, piece in enumerate(names)]
    special = [(piece, 0.0) for piece in ("<s>", "<pad>", "</s>", "<unk>")]
    return [*special, *scored, *((code, 0.0) for code in codes), ("<mask>", 0.0)]


def _m2m_config(transformers, size, *, kind="M2M100Config", **more):
    config = getattr(transformers, kind)(
        **NUMBERS,
        vocab_size=size,
        scale_embedding=True,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        encoder_layerdrop=0.0,
        decoder_layerdrop=0.0,
        **{"decoder_start_token_id": 2, "activation_function": "relu", **more},
    )
    config.forced_bos_token_id = None
    return config


def _m2m(transformers, folder):
    data = trained([*english(), *french()], kind="bpe")
    names = ["<s>", "<pad>", "</s>", "<unk>", *pieces_of(data)[3:]]
    _write(folder, "vocab.json", {piece: n for n, piece in enumerate(names)})
    _write(folder, "sentencepiece.bpe.model", data)
    tokenizer = transformers.M2M100Tokenizer(
        str(folder / "vocab.json"), str(folder / "sentencepiece.bpe.model"), src_lang="en", tgt_lang="fr"
    )
    config = _m2m_config(transformers, len(names) + len(tokenizer.lang_code_to_id) + 8)
    return tokenizer, sharpened(transformers.M2M100ForConditionalGeneration(config))


def _nllb(transformers, folder):
    data = trained([*english(), *french()], kind="bpe")
    processor = sentencepiece.SentencePieceProcessor(model_proto=data)
    pieces = pieces_of(data)[3:]
    vocabulary = {piece: n for n, piece in enumerate(["<s>", "<pad>", "</s>", "<unk>", *pieces])}
    order = {piece: processor.get_score(n + 3) for n, piece in enumerate(pieces)}
    merges = [
        (order[piece], (piece[:cut], piece[cut:]))
        for piece in pieces
        for cut in range(1, len(piece))
        if piece[:cut] in vocabulary and piece[cut:] in vocabulary
    ]
    merges.sort(key=lambda each: -each[0])
    tokenizer = transformers.NllbTokenizer(
        vocab=vocabulary, merges=[pair for _, pair in merges], src_lang="eng_Latn", tgt_lang="fra_Latn"
    )
    config = _m2m_config(transformers, len(tokenizer))
    return tokenizer, sharpened(transformers.M2M100ForConditionalGeneration(config))


def _mbart50(transformers, folder):
    from transformers.models.mbart50.tokenization_mbart50 import FAIRSEQ_LANGUAGE_CODES

    data = trained([*english(), *french()])
    tokenizer = transformers.MBart50Tokenizer(
        vocab=_scores(data, FAIRSEQ_LANGUAGE_CODES), src_lang="en_XX", tgt_lang="fr_XX"
    )
    config = _m2m_config(transformers, len(tokenizer), kind="MBartConfig", activation_function="gelu")
    return tokenizer, sharpened(transformers.MBartForConditionalGeneration(config))


def _mbart(transformers, folder):
    from transformers.models.mbart.tokenization_mbart import FAIRSEQ_LANGUAGE_CODES

    data = trained([*english(), *french()])
    tokenizer = transformers.MBartTokenizer(
        vocab=_scores(data, FAIRSEQ_LANGUAGE_CODES), src_lang="en_XX", tgt_lang="fr_XX"
    )
    begin = tokenizer.convert_tokens_to_ids("fr_XX")
    config = _m2m_config(
        transformers, len(tokenizer), kind="MBartConfig", activation_function="gelu", decoder_start_token_id=begin
    )
    return tokenizer, sharpened(transformers.MBartForConditionalGeneration(config))


def _t5_tokenizer(transformers, folder):
    data = trained([*english(), *french()], pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    _write(folder, "spiece.model", data)
    return transformers.T5Tokenizer.from_pretrained(str(folder), extra_ids=8), data


def _t5(transformers, folder, config="T5Config", model="T5ForConditionalGeneration", **more):
    tokenizer, _ = _t5_tokenizer(transformers, folder)
    numbers = {"d_model": 16, "d_kv": 6, "num_heads": 2, "d_ff": 24, "num_layers": 2, "num_decoder_layers": 2}
    settings = getattr(transformers, config)(
        vocab_size=len(tokenizer) + 5, **numbers, decoder_start_token_id=0, pad_token_id=0, eos_token_id=1, **more
    )
    return tokenizer, sharpened(getattr(transformers, model)(settings))


def _t5_v1_1(transformers, folder):
    tokenizer, model = _t5(transformers, folder, feed_forward_proj="gated-gelu", tie_word_embeddings=False)
    model.lm_head.weight = torch.nn.Parameter(torch.randn_like(model.shared.weight) * 0.5)
    model.config.tie_word_embeddings = False
    return tokenizer, model


def _mt5(transformers, folder):
    return _t5(transformers, folder, "MT5Config", "MT5ForConditionalGeneration", feed_forward_proj="gated-gelu")
