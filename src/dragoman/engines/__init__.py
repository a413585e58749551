"""Who runs the steps of a search."""
