"""Documents as TOML: what is written reads back the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dragoman.recipe.toml import to_toml
from dragoman.settings import parse_toml

keys = st.text(st.characters(codec="utf-8"), max_size=8)
plain = (
    st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(st.characters(codec="utf-8"))
)
values = st.recursive(plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3))


@given(st.dictionaries(keys, values, max_size=5))
def test_what_is_written_reads_back_the_same(document):
    assert parse_toml(to_toml(document), place="") == document
