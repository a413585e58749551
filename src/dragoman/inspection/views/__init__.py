"""Results as figures: for a page, for a paper, and for a terminal."""
