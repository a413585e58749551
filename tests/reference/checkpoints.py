"""Small checkpoints of Marian, JoeyNMT and OpenNMT-py with random weights, in the layouts of their files, and what such
a model says: a plain Transformer in NumPy that asks the arrays of the file by their own names.
"""

from __future__ import annotations

import argparse
import json
import math

import numpy as np

from reference.transformer import feed_forward, layer_norm, multi_head, sinusoids, ssru

SIZE, INNER, HEADS = 8, 12, 2
WORDS = ("the", "cat", "sat", "on", "a", "mat", "it's", '"', ":", "#", "▁dog", "null", "7")


class Plain:
    """A Transformer; `linear(scope)` gives (matrix [outputs, inputs], bias), `norm(scope)` gain and bias."""

    def __init__(self, *, linear, norm, place, activation, layers=(2, 2), epsilon=1e-6, recurrent=None):
        self.linear, self.norm, self.place, self.activation = linear, norm, place, activation
        self.layers, self.epsilon, self.recurrent = layers, epsilon, recurrent

    def __call__(self, source_SD, inputs_TD):
        """Decoder outputs, [T, D]."""
        x = source_SD
        for n in range(self.layers[0]):
            x = self.fed(("encoder", n), self.attended(("encoder", n, "self"), x))
        memory, x = self.finished("encoder", x), inputs_TD
        for n in range(self.layers[1]):
            x = self.before(n, x)
            x = self.attended(("decoder", n, "context"), x, memory=memory)
            x = self.fed(("decoder", n), x)
        return self.finished("decoder", x)

    def before(self, n, x):
        scope = ("decoder", n, "self")
        if self.recurrent is None:
            return self.attended(scope, x, causal=True)
        return self.around(scope, x, lambda y: ssru(y, *self.recurrent(n)))

    def attended(self, scope, x, *, memory=None, causal=False):
        weights = [self.linear((*scope, letter)) for letter in "qkvo"]

        def looked(y):
            return multi_head(
                y,
                y if memory is None else memory,
                weights,
                heads=HEADS,
                key_heads=HEADS,
                scale=(SIZE // HEADS) ** -0.5,
                allowed=lambda t, s: s <= t or not causal,
            )

        return self.around(scope, x, looked)

    def fed(self, side, x):
        scope = (*side, "ffn")
        first, second = self.linear((*scope, "1")), self.linear((*scope, "2"))
        return self.around(scope, x, lambda y: feed_forward(y, first, second, self.activation))

    def around(self, scope, x, function):
        gain, bias = self.norm(scope)
        if self.place == "pre":
            return x + function(layer_norm(x, gain, bias, self.epsilon))
        return layer_norm(x + function(x), gain, bias, self.epsilon)

    def finished(self, side, x):
        return layer_norm(x, *self.norm((side, "top")), self.epsilon) if self.place == "pre" else x


def greedy(logits, begin, end, most):
    """The best next token again and again, by a function from all tokens before to logits."""
    said = []
    while len(said) < most and (not said or said[-1] != end):
        said.append(int(logits([*begin, *said])[-1].argmax()))
    return said


def relu(value):
    return max(value, 0.0)


def swish(value):
    return value / (1 + math.exp(-value))


# ---- Marian --------------------------------------------------------------------------------------------------------


MARIAN = {
    "type": "transformer",
    "dim-vocabs": [0, 0],
    "dim-emb": SIZE,
    "enc-depth": 2,
    "dec-depth": 2,
    "dec-cell": "gru",
    "right-left": False,
    "lemma-dim-emb": 0,
    "tied-embeddings": False,
    "tied-embeddings-src": False,
    "tied-embeddings-all": True,
    "transformer-heads": HEADS,
    "transformer-no-projection": False,
    "transformer-pool": False,
    "transformer-dim-ffn": INNER,
    "transformer-decoder-dim-ffn": 0,
    "transformer-ffn-depth": 2,
    "transformer-decoder-ffn-depth": 0,
    "transformer-ffn-activation": "swish",
    "transformer-decoder-autoreg": "self-attention",
    "transformer-tied-layers": [],
    "transformer-guided-alignment-layer": "last",
    "transformer-preprocess": "",
    "transformer-postprocess-emb": "d",
    "transformer-postprocess": "dan",
    "transformer-postprocess-top": "",
    "transformer-train-position-embeddings": False,
    "ulr": False,
    "version": "v1.10.0 6f6d4846 2021-02-06 15:35:16 -0800",
}
PRE = {"transformer-preprocess": "n", "transformer-postprocess": "da", "transformer-postprocess-top": "n"}


class Marian:
    """A model as Marian saves it: `model.npz`, vocabularies, and a decoder.yml."""

    def __init__(self, *, rows=(16, 16), seed=0, **options):
        self.options = MARIAN | {key.replace("_", "-"): value for key, value in options.items()}
        self.rows = rows
        self.random = np.random.default_rng(seed)
        self.arrays = {}
        self.is_pre = self.options["transformer-preprocess"] == "n"
        self.is_recurrent = self.options["transformer-decoder-autoreg"] == "rnn"
        self._tables()
        for side in ("encoder", "decoder"):
            for n in (1, 2):
                self._layer(side, n)
            for end, wanted in (("top", self.is_pre), ("emb", "n" in self.options["transformer-postprocess-emb"])):
                if wanted:
                    self._norm(f"{side}_{end}", "_pre" if end == "emb" else "")

    def _draw(self, *shape, scale=0.5):
        return (self.random.standard_normal(shape) * scale).astype("float32")

    def _tables(self):
        told = self.options
        source, target = self.rows
        both = told["tied-embeddings-all"] or told["tied-embeddings-src"]
        self.tables = ("Wemb", "Wemb") if both else ("encoder_Wemb", "decoder_Wemb")
        self.arrays |= {self.tables[0]: self._draw(source, SIZE), self.tables[1]: self._draw(target, SIZE)}
        self.arrays["decoder_ff_logit_out_b"] = self._draw(1, target)
        if not (told["tied-embeddings"] or told["tied-embeddings-all"]):
            self.arrays["decoder_ff_logit_out_Wt"] = self._draw(target, SIZE)
        if told["transformer-train-position-embeddings"]:
            self.arrays["Wpos"] = self._draw(30, SIZE)

    def _layer(self, side, n):
        scope = f"{side}_l{n}"
        blocks = {"self": "qkvo", "context": "qkvo", "ffn": "12"}
        if side == "encoder" or self.is_recurrent:
            blocks.pop("context" if side == "encoder" else "self")
        for block, letters in blocks.items():
            for letter in letters:
                shape = {"1": (SIZE, INNER), "2": (INNER, SIZE)}.get(letter, (SIZE, SIZE))
                self.arrays[f"{scope}_{block}_W{letter}"] = self._draw(*shape)
                self.arrays[f"{scope}_{block}_b{letter}"] = self._draw(1, shape[1])
            self._norm(f"{scope}_{block}_{'ffn' if block == 'ffn' else 'Wo'}", "_pre" if self.is_pre else "")
        if side == "decoder" and self.is_recurrent:
            self.arrays |= {f"{scope}_rnn_{name}": self._draw(SIZE, SIZE) for name in ("W", "Wf")}
            self.arrays[f"{scope}_rnn_bf"] = self._draw(1, SIZE)
            self._norm(f"{scope}_rnn" if self.is_pre else f"{scope}_rnn_ffn", "_pre" if self.is_pre else "")

    def _norm(self, scope, suffix):
        self.arrays[f"{scope}_ln_scale{suffix}"] = 1 + self._draw(1, SIZE)
        self.arrays[f"{scope}_ln_bias{suffix}"] = self._draw(1, SIZE)

    def save(self, folder, *, words=(WORDS, WORDS), **decoder):
        folder.mkdir(parents=True, exist_ok=True)
        written = "".join(f"{key}: {json.dumps(value)}\n" for key, value in self.options.items() if value != [])
        written += "".join(f"{key}:\n  []\n" for key, value in self.options.items() if value == [])
        config = np.frombuffer(written.encode() + b"\0", dtype="int8")
        np.savez(folder / "model.npz", **{"special:model.yml": config}, **self.arrays)
        names = ["vocab.yml"] if words[0] == words[1] else ["vocab.src.yml", "vocab.trg.yml"]
        for name, some in zip(names, words, strict=False):
            lines = [f"{json.dumps(word, ensure_ascii=False)}: {n}" for n, word in enumerate(self.vocabulary(some))]
            (folder / name).write_text("\n".join(lines) + "\n")
        listed = "".join(f"  - /somewhere/else/{name}\n" for name in (names[0], names[-1]))
        more = "".join(f"{key.replace('_', '-')}: {value}\n" for key, value in decoder.items())
        (folder / "model.npz.decoder.yml").write_text(f"models:\n  - model.npz\nvocabs:\n{listed}{more}")
        return folder

    def vocabulary(self, words):
        return ["</s>", "<unk>", *words]

    def logits(self, source, target):
        """Logits of the first output and of that after each token of the target; all ids are Marian's."""
        take = self.arrays
        target_table = take[self.tables[1]].astype("float64")
        plain = Plain(
            linear=self._linear,
            norm=self._normed,
            place="pre" if self.is_pre else "post",
            activation={"swish": swish, "relu": relu}[self.options["transformer-ffn-activation"]],
            recurrent=self._recurrence if self.is_recurrent else None,
        )
        inputs = np.concatenate([np.zeros((1, SIZE)), target_table[target]])  # it begins with nothing
        hidden = plain(self._entered("encoder", take[self.tables[0]][source]), self._entered("decoder", inputs))
        return hidden @ take.get("decoder_ff_logit_out_Wt", target_table).T + take["decoder_ff_logit_out_b"]

    def _entered(self, side, x):
        if "Wpos" in self.arrays:
            x = x + self.arrays["Wpos"][: len(x)]
        else:
            half = SIZE // 2
            angles = np.array([[p * 10000 ** (-i / (half - 1)) for i in range(half)] for p in range(len(x))])
            x = x * math.sqrt(SIZE) + np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
        if f"{side}_emb_ln_scale_pre" in self.arrays:
            x = layer_norm(x, *self._pair(f"{side}_emb", "_pre"), 1e-6)
        return x

    def _linear(self, scope):
        side, n, block, letter = scope
        name = f"{side}_l{n + 1}_{block}"
        return self.arrays[f"{name}_W{letter}"].T, self.arrays[f"{name}_b{letter}"][0]

    def _recurrence(self, n):
        name = f"decoder_l{n + 1}_rnn"
        return self.arrays[f"{name}_Wf"].T, self.arrays[f"{name}_bf"][0], self.arrays[f"{name}_W"].T

    def _normed(self, scope):
        if scope[-1] == "top":
            return self._pair(f"{scope[0]}_top", "")
        side, n, block = scope
        suffix = "_pre" if self.is_pre else ""
        if side == "decoder" and block == "self" and self.is_recurrent:
            return self._pair(f"{side}_l{n + 1}_rnn" + ("" if self.is_pre else "_ffn"), suffix)
        return self._pair(f"{side}_l{n + 1}_{block}_{'ffn' if block == 'ffn' else 'Wo'}", suffix)

    def _pair(self, name, suffix):
        return self.arrays[f"{name}_ln_scale{suffix}"][0], self.arrays[f"{name}_ln_bias{suffix}"][0]


# ---- JoeyNMT -------------------------------------------------------------------------------------------------------


SPECIAL = ("<unk>", "<pad>", "<s>", "</s>")
JOEYNMT = """
name: "small"   # a comment
joeynmt_version: "2.3.0"
data:
    train: "somewhere/train"
    src:
        lang: "en"
        level: "{level}"
        lowercase: {lowercase}
        tokenizer_type: "{tokenizer}"
        tokenizer_cfg:
            model_file: "elsewhere/sp.model"
            pretokenizer: "none"
    trg:
        lang: "fr"
        level: "{level}"
        tokenizer_type: "{tokenizer}"
        tokenizer_cfg:
            model_file: "elsewhere/sp.model"
testing:
    beam_size: {beam}
    beam_alpha: 1.0
    eval_metrics: ["bleu"]
training:
    betas: [0.9, 0.98]
    learning_rate: 0.0003
model:
    initializer: "xavier_uniform"
    tied_embeddings: {shared}
    tied_softmax: {tied}
    encoder:
{encoder}
    decoder:
{decoder}
"""


class Joey:
    """A folder as JoeyNMT leaves it after training."""

    def __init__(self, *, place="pre", shared=True, tied=True, words=(WORDS, WORDS), seed=0):
        self.place, self.shared, self.tied = place, shared, tied
        self.vocabularies = [[*SPECIAL, *some] for some in words]
        self.random = np.random.default_rng(seed)
        source, target = (len(each) for each in self.vocabularies)
        self.state = {"src_embed.lut.weight": self._draw(source, SIZE)}
        self.state["trg_embed.lut.weight"] = self.state["src_embed.lut.weight"] if shared else self._draw(target, SIZE)
        self.state["decoder.output_layer.weight"] = (
            self.state["trg_embed.lut.weight"] if tied else self._draw(target, SIZE)
        )
        for n in range(2):
            self._layer(f"encoder.layers.{n}", ["src_src_att"], ["layer_norm"])
            self._layer(f"decoder.layers.{n}", ["trg_trg_att", "src_trg_att"], ["x_layer_norm", "dec_layer_norm"])
        for side in ("encoder", "decoder"):
            self.state[f"{side}.pe.pe"] = sinusoids(50, SIZE)[None].astype("float32")
            if place == "pre":
                self._pair(f"{side}.layer_norm", SIZE, around=1)

    def _draw(self, *shape):
        return (self.random.standard_normal(shape) * 0.5).astype("float32")

    def _pair(self, name, *shape, around=0):
        self.state[f"{name}.weight"] = around + self._draw(*shape)
        self.state[f"{name}.bias"] = self._draw(shape[0])

    def _layer(self, name, attentions, norms):
        for each in attentions:
            for letter in ("k", "v", "q", "output"):
                self._pair(f"{name}.{each}.{letter + '_layer'}", SIZE, SIZE)
        for each in (*norms, "feed_forward.layer_norm"):
            self._pair(f"{name}.{each}", SIZE, around=1)
        self._pair(f"{name}.feed_forward.pwff_layer.0", INNER, SIZE)
        self._pair(f"{name}.feed_forward.pwff_layer.3", SIZE, INNER)

    def save(self, folder, *, level="word", tokenizer="sentencepiece", lowercase="False", beam=4, side="", **changed):
        import torch

        folder.mkdir(parents=True, exist_ok=True)
        told = {
            "type": '"transformer"',
            "num_layers": 2,
            "num_heads": HEADS,
            "embeddings": "\n            embedding_dim: 8\n            scale: True",
            "hidden_size": SIZE,
            "ff_size": INNER,
            "dropout": 0.1,
            "layer_norm": f'"{self.place}"',
            "activation": '"relu"',
        }
        sides = {each: told | (changed if each == side else {}) for each in ("encoder", "decoder")}
        written = {
            each: "\n".join(f"        {key}: {value}" for key, value in some.items()) for each, some in sides.items()
        }
        more = {"shared": self.shared, "tied": self.tied, "beam": beam, "level": level, "tokenizer": tokenizer}
        (folder / "config.yaml").write_text(JOEYNMT.format(**written, **more, lowercase=lowercase))
        for name, pieces in zip(("src", "trg"), self.vocabularies, strict=True):
            (folder / f"{name}_vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces))
        state = {name: torch.from_numpy(value) for name, value in self.state.items()}
        kept = {
            "steps": 7,
            "best_ckpt_score": 12.5,
            "model_state": state,
            "optimizer_state": {"state": {0: {"exp_avg": torch.zeros(3)}}, "param_groups": [{"lr": 0.1}]},
            "scheduler_state": None,
        }
        torch.save(kept, folder / "7.ckpt")
        (folder / "best.ckpt").symlink_to("7.ckpt")
        return folder

    def logits(self, source, inputs):
        """Logits after each input; all ids are JoeyNMT's, and inputs begin with its begin."""
        plain = Plain(linear=self._linear, norm=self._norm, place=self.place, activation=relu)
        embedded = [
            self.state[name][ids] * math.sqrt(SIZE) + sinusoids(len(ids), SIZE)
            for name, ids in (("src_embed.lut.weight", source), ("trg_embed.lut.weight", inputs))
        ]
        return plain(*embedded) @ self.state["decoder.output_layer.weight"].T

    def _linear(self, scope):
        side, n, block, letter = scope
        if block == "ffn":
            return self._of(f"{side}.layers.{n}.feed_forward.pwff_layer.{ {'1': 0, '2': 3}[letter] }")
        attention = {"encoder": "src_src_att", "decoder": "src_trg_att" if block == "context" else "trg_trg_att"}[side]
        return self._of(f"{side}.layers.{n}.{attention}.{'output' if letter == 'o' else letter}_layer")

    def _norm(self, scope):
        if scope[-1] == "top":
            return self._of(f"{scope[0]}.layer_norm")
        side, n, block = scope
        names = {"self": "layer_norm" if side == "encoder" else "x_layer_norm", "context": "dec_layer_norm"}
        return self._of(f"{side}.layers.{n}.{names.get(block, 'feed_forward.layer_norm')}")

    def _of(self, name):
        return self.state[f"{name}.weight"], self.state[f"{name}.bias"]


# ---- OpenNMT-py ----------------------------------------------------------------------------------------------------


OPENNMT = {
    "encoder_type": "transformer",
    "decoder_type": "transformer",
    "self_attn_type": "scaled-dot",
    "position_encoding": True,
    "position_encoding_type": "SinusoidalInterleaved",
    "max_relative_positions": 0,
    "copy_attn": False,
    "parallel_residual": False,
    "shared_layer_norm": False,
    "num_kv": 0,
    "heads": HEADS,
    "enc_hid_size": SIZE,
    "dec_hid_size": SIZE,
    "enc_layers": 2,
    "dec_layers": 2,
    "transformer_ff": INNER,
    "pos_ffn_activation_fn": "relu",
    "layer_norm": "standard",
    "norm_eps": 1e-6,
    "share_embeddings": False,
    "share_decoder_embeddings": False,
    "dropout": [0.1],
    "attention_dropout": [0.0],
    "transforms": ["sentencepiece"],
    "src_subword_model": "elsewhere/sp.model",
    "tgt_subword_model": "elsewhere/sp.model",
    "data": {"corpus_1": {"path_src": "train.src", "weight": 1}},
}
BLANKED = ("<unk>", "<blank>", "<s>", "</s>")


class OpenNMT:
    """A checkpoint as version 3 of OpenNMT-py saves it."""

    def __init__(self, *, words=(WORDS, WORDS), biases=True, generator="", seed=0, **options):
        self.options, self.biases = OPENNMT | options, biases
        self.vocabularies = [[*BLANKED, *some] for some in words]
        self.random = np.random.default_rng(seed)
        source, target = (len(each) for each in self.vocabularies)
        self.tables = [f"{side}.embeddings.make_embedding.emb_luts.0.weight" for side in ("encoder", "decoder")]
        self.model = {self.tables[0]: self._draw(source, SIZE)}
        self.model[self.tables[1]] = (
            self.model[self.tables[0]] if self.options["share_embeddings"] else self._draw(target, SIZE)
        )
        tied = self.options["share_decoder_embeddings"]
        self.generator = {
            f"{generator}weight": self.model[self.tables[1]] if tied else self._draw(target, SIZE),
            f"{generator}bias": self._draw(target),
        }
        for n in range(2):
            self._layer(f"encoder.transformer.{n}", ["self_attn"], ["layer_norm"])
            self._layer(
                f"decoder.transformer_layers.{n}", ["self_attn", "context_attn"], ["layer_norm_1", "layer_norm_2"]
            )
        for side in ("encoder", "decoder"):
            self._norm_pair(f"{side}.layer_norm")
            self.model[f"{side}.embeddings.make_embedding.pe.pe"] = sinusoids(40, SIZE)[:, None].astype("float32")

    def _draw(self, *shape):
        return (self.random.standard_normal(shape) * 0.5).astype("float32")

    def _norm_pair(self, name):
        self.model |= {f"{name}.weight": 1 + self._draw(SIZE), f"{name}.bias": self._draw(SIZE)}

    def _map(self, name, outputs, inputs, *, bias):
        self.model[f"{name}.weight"] = self._draw(outputs, inputs)
        if bias:
            self.model[f"{name}.bias"] = self._draw(outputs)

    def _layer(self, name, attentions, norms):
        for each in attentions:
            for part in ("linear_keys", "linear_values", "linear_query", "final_linear"):
                self._map(f"{name}.{each}.{part}", SIZE, SIZE, bias=self.biases)
        for each in (*norms, "feed_forward.layer_norm"):
            self._norm_pair(f"{name}.{each}")
        self._map(f"{name}.feed_forward.w_1", INNER, SIZE, bias=True)
        self._map(f"{name}.feed_forward.w_2", SIZE, INNER, bias=True)

    def save(self, path, **more):
        import torch

        path.parent.mkdir(parents=True, exist_ok=True)
        source, target = self.vocabularies
        kept = {
            "model": {name: torch.from_numpy(value) for name, value in self.model.items()},
            "generator": {name: torch.from_numpy(value) for name, value in self.generator.items()},
            "vocab": {"src": source, "tgt": target, "data_task": "seq2seq", "decoder_start_token": "<s>"},
            "opt": argparse.Namespace(**self.options),
            "optim": {"training_step": 3, "optimizer": {"state": {0: {"exp_avg": torch.zeros(2)}}}},
        }
        torch.save(kept | more, path)
        return path

    def logits(self, source, inputs):
        """Logits after each input; all ids are OpenNMT-py's, and inputs begin with its begin."""
        plain = Plain(linear=self._linear, norm=self._norm, place="pre", activation=relu)
        embedded = [
            self.model[name][ids] * math.sqrt(SIZE) + sinusoids(len(ids), SIZE)
            for name, ids in zip(self.tables, (source, inputs), strict=True)
        ]
        weight, bias = self.generator.values()
        return plain(*embedded) @ weight.T + bias

    def _layer_of(self, scope):
        return f"{scope[0]}.{'transformer' if scope[0] == 'encoder' else 'transformer_layers'}.{scope[1]}"

    def _linear(self, scope):
        block, letter = scope[2:]
        if block == "ffn":
            return self._of(f"{self._layer_of(scope)}.feed_forward.w_{letter}")
        part = {"q": "linear_query", "k": "linear_keys", "v": "linear_values", "o": "final_linear"}[letter]
        return self._of(f"{self._layer_of(scope)}.{block}_attn.{part}")

    def _norm(self, scope):
        if scope[-1] == "top":
            return self._of(f"{scope[0]}.layer_norm")
        decoder = {"self": "layer_norm_1", "context": "layer_norm_2", "ffn": "feed_forward.layer_norm"}
        encoder = {"self": "layer_norm", "ffn": "feed_forward.layer_norm"}
        return self._of(f"{self._layer_of(scope)}.{(encoder if scope[0] == 'encoder' else decoder)[scope[2]]}")

    def _of(self, name):
        weight = self.model[f"{name}.weight"]
        return weight, self.model.get(f"{name}.bias", np.zeros(len(weight)))
