"""Text and features become batches: corpora, cleaning, the store, the loader, the built-in phrasebook."""
