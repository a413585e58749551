"""What stands where in the folder of a run, beside the best model, the checkpoints and the log of events."""

from __future__ import annotations

RUN_FILE, REPORT, LOCK = "run.toml", "report.html", ".lock"
START = "start"
"""The model that training went on from, as it was when the run began."""
BOARD = "tensorboard"
HELD_OUT = "held-out"
"""Training and validation pairs of a corpus that came without the latter."""
TAUGHT, SEQUENCES, WORDS = "taught", "sequences", "words"
"""Of a distillation: what the teacher said, and the runs that learn from its outputs and from its probabilities."""
PURPOSE = "training in this folder"
"""What whoever holds the lock is doing."""
