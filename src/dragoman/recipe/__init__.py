"""From a run file to a run."""
