"""How good a model's outputs are, and whether they are better than another's."""
