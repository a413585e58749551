"""Sweeps: many runs by recipes that differ a little, and which of the differences mattered."""
