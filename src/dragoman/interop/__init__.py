"""Models of other libraries: brought in, taken out, and proven to give the same outputs."""
