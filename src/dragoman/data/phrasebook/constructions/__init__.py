"""The constructions of the phrasebook: each draws one tree and says it in both languages."""
