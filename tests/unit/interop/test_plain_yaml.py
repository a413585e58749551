"""Configurations are read as YAML means them, and what is not plain is refused at its line."""

from __future__ import annotations

import pytest

from dragoman.errors import FileError
from dragoman.interop.plain_yaml import parse, scalar

DOCUMENT = """\
# a head
---
name: "my # model"   # a comment
data:
    src:
        lang: de
        options: {file: sp.model, n: [1, 2.5]}
betas: [0.9, 0.98,
  "a, b"]
rate: 1e-4
none:
  []
level:
- 0
- x: 1
  y: 'it''s'
empty: ""
nothing:
url: http://x.y/z
on: true
last: ~
"""


def test_what_configurations_are_written_in():
    assert parse(DOCUMENT, place="here") == {
        "name": "my # model",
        "data": {"src": {"lang": "de", "options": {"file": "sp.model", "n": [1, 2.5]}}},
        "betas": [0.9, 0.98, "a, b"],
        "rate": 1e-4,
        "none": [],
        "level": [0, {"x": 1, "y": "it's"}],
        "empty": "",
        "nothing": None,
        "url": "http://x.y/z",
        "on": True,
        "last": None,
    }
    assert parse("", place="here") == {}


def test_it_agrees_with_another_reader():
    yaml = pytest.importorskip("yaml", reason="needs PyYAML to compare with")
    document = DOCUMENT.replace("1e-4", "0.0001").replace("on: true", "off: 3")
    theirs = yaml.safe_load(document)
    assert parse(document, place="here") == {("off" if key is False else key): theirs[key] for key in theirs}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"\"\x41\u00e9\U0001F600\n\\"', '"Aé😀\n\\'),
        ("'a''b'", "a'b"),
        ("0x10", "0x10"),
        ("-3", -3),
        ("v1.2", "v1.2"),
        ("No", False),
    ],
)
def test_scalars(text, value):
    assert scalar(text) == value


@pytest.mark.parametrize(
    ("document", "line"),
    [
        ("a: 1\nb: &x 1", 2),
        ("a: |\n  text", 1),
        ("a: !!python/object 1", 1),
        ("a:\n    b: 1\n  c: 2", 3),
        ("a: [1", 1),
        ("a: [1]]", 1),
        ('a: "x', 1),
        ("a: 1\nb", 2),
        ("- - 1", 1),
        ("a: *x\nb: 1\nc: 2", 1),
        ("a: " + "[" * 40 + "]" * 40, 1),
    ],
)
def test_what_is_not_plain_is_refused_at_its_line(document, line):
    with pytest.raises(FileError, match=f"here, line {line}: cannot be read"):
        parse(document, place="here")
