"""Search: pure functions over a decoder step, which never ask what model it has."""
