"""Objectives: what is made small, each with its settings; `build` makes one of the other."""
