"""Training: a generator of events that cannot be lost."""
