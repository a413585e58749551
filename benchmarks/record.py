"""Keeps what a benchmark found: a dated file under results/, with the machine it was measured on."""

from __future__ import annotations

import datetime as dt
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.devices import cores, processor

if TYPE_CHECKING:
    from collections.abc import Mapping

RESULTS = Path(__file__).parent / "results"


def save(name: str, figures: Mapping[str, Any]) -> None:
    """Write the figures to results/DATE-NAME.json."""
    today = f"{dt.datetime.now(dt.UTC):%Y-%m-%d}"
    machine = {
        "date": today,
        "processor": processor().name,
        "cores": cores(),
        "python": sys.version.split()[0],
        "torch": version("torch"),
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{today}-{name}.json"
    path.write_text(json.dumps({**machine, **figures}, indent=1) + "\n", encoding="utf-8")
    print(f"written: {path}")
