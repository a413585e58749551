"""The words of the phrasebook: bilingual entries, read from small tables when they are first asked for."""
