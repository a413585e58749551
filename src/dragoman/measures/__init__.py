"""Numbers about texts: metrics with their signatures, alignments, detectors of bad outputs. No torch here."""
