"""What the map of the house names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dragoman

ROOT = Path(__file__).parents[2]
HOUSE = Path(dragoman.__file__).parent
MAP = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")


def section(title):
    """The text under a heading."""
    return MAP.split(f"## {title}\n")[1].split("\n## ")[0]


def test_every_room_is_on_the_map():
    named = re.findall(r"^\| `([a-z_/.]+)` \|", section("Rooms"), re.MULTILINE)
    rooms = {f"{each.name}/" for each in HOUSE.iterdir() if (each / "__init__.py").is_file()}
    files = {each.name for each in HOUSE.glob("*.py") if not each.name.startswith("__")}
    assert set(named) == rooms | files


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`([a-z_0-9]+/[a-z_0-9/.]*)`", section("Where a line lives")))))
def test_every_place_of_a_line_is_there(path):
    assert (HOUSE / path).exists() or (ROOT / path).exists()


@pytest.mark.parametrize("name", dragoman.__all__)
def test_every_public_name_is_in_the_reference(name):
    assert re.search(rf"[.: ]{name}\b", REFERENCE)
