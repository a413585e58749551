"""Settings: what is refused and how it is said, assignments, explanations; and the rules that every class keeps."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import pkgutil
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dragoman
from dragoman import settings
from dragoman.errors import SettingError
from dragoman.settings import Meta, Settings


class Words(Settings, frozen=True, kw_only=True, tag_field="kind", tag="words"):
    """Whole words."""

    floor: Annotated[float, Meta(ge=1)] = 3.0
    """Fewest times that a word
    must be seen."""


class Pieces(Settings, frozen=True, kw_only=True, tag_field="kind", tag="pieces"):
    """Parts of words."""

    size: Annotated[int, Meta(ge=2, le=900)] = 300
    """How many pieces."""
    shape: Literal["bpe", "unigram"] = "bpe"
    """How pieces are found."""


class Training(Settings, frozen=True, kw_only=True):
    steps: Annotated[int, Meta(gt=0)]
    """How many steps."""
    warmup: Annotated[int, Meta(ge=0)] = 0
    """Steps of rising learning rate."""
    text: Words | Pieces = Words()
    """How text is cut."""
    more: tuple[Words | Pieces, ...] = ()
    """Other ways."""
    patience: Annotated[int, Meta(ge=1)] | None = None
    """When to stop."""

    def check(self) -> None:
        if self.warmup > self.steps:
            raise SettingError(
                f"warmup {self.warmup} > steps {self.steps}", place="warmup", remedy="Give fewer than steps."
            )


class Run(Settings, frozen=True, kw_only=True):
    training: Training
    """The training table."""


def refused(document, kind=Run):
    with pytest.raises(SettingError) as caught:
        settings.decode(document, kind, place="run.toml")
    return str(caught.value)


def train(**values: object):
    return {"training": {"steps": 10, **values}}


# ---- decoding ----------------------------------------------------------------------------------------------------


def test_a_document_becomes_settings():
    document = train(text={"kind": "pieces", "size": 400}, more=[{"kind": "words"}], patience=3)
    assert settings.decode(document, Run) == Run(
        training=Training(steps=10, text=Pieces(size=400), more=(Words(),), patience=3)
    )


def test_a_key_in_the_wrong_table_is_told_where_it_belongs():
    assert refused(train(text={"kind": "words", "steps": 3})).endswith("Did you mean 'training.steps'?")
    assert refused({**train(), "warmup": 3}).endswith("Did you mean 'training.warmup'?")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"warm_up": 3}, "run.toml: training.warm_up: unknown setting 'warm_up'. Did you mean 'warmup'?"),
        ({"text": {"kind": "pieces", "sise": 4}}, "training.text.sise: unknown setting 'sise'. Did you mean 'size'?"),
        ({"more": [{"kind": "words"}, {"kind": "words", "flor": 4}]}, "training.more.1.flor"),
        ({"qqq": 1}, "Known here: more, patience, steps, text, warmup."),
        ({"text": {"kind": "piece"}}, "training.text.kind: there is no kind 'piece'. Did you mean 'pieces'?"),
        ({"text": {"size": 3}}, "training.text"),
        ({"text": {"kind": "pieces", "size": 901}}, "training.text.size: expected `int` <= 900, got 901"),
        ({"text": {"kind": "pieces", "size": 901}}, "Give int, ≥ 2 and ≤ 900 (default: 300). How many pieces."),
        ({"more": [{"kind": "pieces", "size": 1}]}, "training.more.0.size"),
        ({"text": {"kind": "pieces", "shape": "bp"}}, "'bpe' | 'unigram'"),
        ({"warmup": "3"}, "training.warmup"),
        ({"warmup": True}, "training.warmup"),
        ({"warmup": 1.5}, "training.warmup"),
        ({"patience": 0}, "training.patience"),
        ({"warmup": 20}, "run.toml: training.warmup: warmup 20 > steps 10. Give fewer than steps."),
        ({"text": {"kind": "words", "floor": float("inf")}}, "training.text.floor: inf is not a finite number"),
        ({"text": {"kind": "words", "floor": float("nan")}}, "training.text.floor"),
        ({"text": 3}, "training.text"),
        ({"more": {"kind": "words"}}, "training.more"),
    ],
)
def test_what_is_refused_names_its_key_and_the_remedy(values, said):
    assert said in refused(train(**values))


def test_a_missing_field_is_named():
    assert "steps" in refused({"training": {}})
    assert "training" in refused({})


def test_a_whole_number_will_do_for_a_real_one():
    assert settings.decode({"kind": "words", "floor": 2}, Words).floor == 2.0


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.text(max_size=3) | st.just("words"),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["training", "steps", "text", "more", "kind", "size", "floor", "x"]), inner, max_size=4
            )
        ),
        max_leaves=12,
    )
)
def test_any_document_is_decoded_or_refused_in_words(document):
    if isinstance(document, dict):
        with contextlib.suppress(SettingError):
            settings.decode(document, Run, place="run.toml")


# ---- constructors ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "place"),
    [
        (lambda: Pieces(size=1), "size"),
        (lambda: Pieces(size=True), "size"),
        (lambda: Pieces(shape="bp"), "shape"),
        (lambda: Words(floor=0.5), "floor"),
        (lambda: Words(floor=float("nan")), "floor"),
        (lambda: Words(floor=float("inf")), "floor"),
        (lambda: Training(steps=0), "steps"),
        (lambda: Training(steps=10, text=7), "text"),
        (lambda: Training(steps=10, more=[Words(), 7]), "more.1"),
        (lambda: Training(steps=1, warmup=2), "warmup"),
    ],
)
def test_constructors_refuse_what_decoding_refuses(make, place):
    with pytest.raises(SettingError) as caught:
        make()
    assert caught.value.place == place
    assert caught.value.remedy


def test_constructors_take_names_only_and_no_unknown_ones():
    with pytest.raises(TypeError):
        Pieces(3)
    with pytest.raises(TypeError):
        Pieces(sise=3)


def test_settings_cannot_be_changed_and_lists_become_tuples():
    made = Training(steps=10, more=[Words()])
    assert made.more == (Words(),)
    with pytest.raises(AttributeError):
        made.steps = 3


# ---- TOML and --set ----------------------------------------------------------------------------------------------


def test_toml_that_cannot_be_read_names_file_and_line():
    with pytest.raises(SettingError, match=r"run\.toml: not valid TOML: .*line 2"):
        settings.parse_toml("[a]\nb = \n", place="run.toml")
    assert settings.parse_toml("[a]\nb = 1", place="run.toml") == {"a": {"b": 1}}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("1e-4", 1e-4),
        ("true", True),
        ("bpe", "bpe"),
        ('"a b"', "a b"),
        ("a b", "a b"),
        ("[1, 2]", [1, 2]),
        ("{kind = 'words'}", {"kind": "words"}),
        ("x=y", "x=y"),
        ("", ""),
        ("1\nc = 2", "1\nc = 2"),
    ],
)
def test_assigned_values(text, value):
    before = {"a": {"b": 0, "z": 1}}
    assert settings.assign(before, [f"a.b={text}"]) == {"a": {"b": value, "z": 1}}
    assert before == {"a": {"b": 0, "z": 1}}


def test_assignments_make_tables_and_the_last_one_holds():
    assert settings.assign({}, ["a.b.c=1", "a.b.c=2", "d=3"]) == {"a": {"b": {"c": 2}}, "d": 3}


@pytest.mark.parametrize("wrong", ["a", "=1", "a..b=1", ".a=1"])
def test_assignments_without_a_key_or_a_value_are_refused(wrong):
    with pytest.raises(SettingError, match="is not of the form key=value"):
        settings.assign({}, [wrong])


def test_an_assignment_into_a_value_is_refused():
    with pytest.raises(SettingError, match="'a' holds a value, not a table"):
        settings.assign({"a": 1}, ["a.b=1"])


# ---- --explain ---------------------------------------------------------------------------------------------------


def test_an_explanation_has_meaning_range_and_default():
    (found,) = settings.explain(Run, "training.text.size")
    assert found.key == "training.text(pieces).size"
    assert str(found) == ("training.text(pieces).size: int\n  How many pieces.\n  range: ≥ 2 and ≤ 900\n  default: 300")
    (words,) = settings.explain(Run, "text(words).floor")
    assert words.meaning == "Fewest times that a word must be seen."


def test_a_short_key_finds_every_place_and_a_table_its_fields():
    assert [e.key for e in settings.explain(Run, "size")] == [
        "training.text(pieces).size",
        "training.more(pieces).size",
    ]
    assert [e.key for e in settings.explain(Run, "training")][:3] == ["training", "training.steps", "training.warmup"]
    (steps,) = settings.explain(Run, "steps")
    assert steps.default == "none: must be given"
    (patience,) = settings.explain(Run, "patience")
    assert (patience.type, patience.range, patience.default) == ("int or nothing", "≥ 1", "nothing")


def test_a_kind_is_explained_by_what_there_is_to_choose():
    (found,) = settings.explain(Run, "text.kind")
    assert (found.key, found.default) == ("training.text.kind", '"words"')
    assert found.range == "'words' | 'pieces'"
    assert found.meaning == "words: Whole words. pieces: Parts of words."


def test_a_short_key_of_a_table_finds_what_is_in_it():
    assert {e.key for e in settings.explain(Run, "text")} >= {
        "training.text",
        "training.text.kind",
        "training.text(words).floor",
        "training.text(pieces).size",
    }


def test_an_unknown_key_is_refused_with_the_nearest():
    with pytest.raises(SettingError, match=r"Did you mean 'training\.warmup'"):
        settings.explain(Run, "training.warmupp")


# ---- the rules of the house --------------------------------------------------------------------------------------


def settings_of_the_package():
    """Every settings class in every module."""
    found = set()
    for module in pkgutil.walk_packages(dragoman.__path__, "dragoman."):
        if module.name.endswith("__main__"):
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, type) and issubclass(value, Settings) and value is not Settings:
                found.add(value)
    return sorted(found, key=lambda k: (k.__module__, k.__qualname__))


def test_every_settings_class_keeps_the_rules():
    kinds = settings_of_the_package()
    assert kinds
    for kind in kinds:
        name = f"{kind.__module__}.{kind.__qualname__}"
        assert kind.__struct_config__.frozen, f"{name} can be changed"
        assert kind.__struct_config__.forbid_unknown_fields, f"{name} takes unknown keys"
        config = kind.__struct_config__
        assert config.tag is None or config.tag_field == "kind", f"{name}: add tag_field"
        for parameter in inspect.signature(kind).parameters.values():
            assert parameter.kind is parameter.KEYWORD_ONLY, f"{name}: add kw_only=True, which is not inherited"
        for field in settings.fields(kind):
            assert field.meaning, f"{name}.{field.key} has no string under it"
        assert inspect.getdoc(kind), f"{name} has no docstring"


def test_a_table_without_a_kind_is_of_the_default_kind():
    training = settings.decode({"training": {"steps": 1, "text": {"floor": 7.0}}}, Run).training
    assert training.text == Words(floor=7.0)
    assert "size" in str(refused({"training": {"steps": 1, "text": {"size": 7}}}))
