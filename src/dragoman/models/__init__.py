"""Models: modules that take numbers and tensors, all behind the seam of `dragoman.models.seq2seq`."""
