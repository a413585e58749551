"""The command line: one file per verb, results to standard output, everything else to standard error."""
