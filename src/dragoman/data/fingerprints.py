"""Fingerprints: which texts have been seen, in memory of a fixed size.

A text is known by 64 bits of its BLAKE2 hash, in a table with open addressing whose size is set beforehand. Two
different texts share a fingerprint with probability 2⁻⁶⁴: among n texts, n²/2⁶⁵ are expected to be taken for seen
when they were not (one in 3,700 runs over a hundred million). A table that is nearly full remembers nothing new, and
counts what it could not remember: a repeated text may then be missed, but none is invented.
"""

from __future__ import annotations

import hashlib
import mmap
import unicodedata

_FREE = 0
_FILL = 0.75  # beyond this, looking for a free slot takes long


def fingerprint(text: str, *, seed: int = 0) -> int:
    """64 bits that stand for a text; never 0."""
    digest = hashlib.blake2b(text.encode(), digest_size=8, salt=seed.to_bytes(8, "little")).digest()
    return int.from_bytes(digest, "little") or 1


def folded(text: str) -> str:
    """The text without differences of case, white space and Unicode form."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


class Fingerprints:
    """The set of the texts that were added; 25 million fit into 256 MiB."""

    def __init__(self, *, mebibytes: int) -> None:
        self._slots = mebibytes << 17
        self._most = int(self._slots * _FILL)
        self._table = memoryview(mmap.mmap(-1, self._slots * 8)).cast("Q")  # pages take memory when they are used
        self.forgotten = 0
        """How many texts could not be remembered."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, text: str) -> bool:
        return self._table[self._slot(fingerprint(text))] != _FREE

    def add(self, text: str) -> bool:
        """Whether the text is new; from now on it is not."""
        value = fingerprint(text)
        slot = self._slot(value)
        if self._table[slot] != _FREE:
            return False
        if self._count < self._most:
            self._table[slot] = value
            self._count += 1
        else:
            self.forgotten += 1
        return True

    def _slot(self, value: int) -> int:
        """Where the fingerprint is, or would be."""
        table, slot = self._table, value % self._slots
        while (held := table[slot]) != value and held != _FREE:
            slot = (slot + 1) % self._slots
        return slot
