"""Models of the library transformers: brought in from its folders, and written as such."""
