import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.fingerprints import Fingerprints, fingerprint, folded


@given(st.lists(st.text(max_size=3)))
def test_a_table_agrees_with_a_set(texts):
    table, known = Fingerprints(mebibytes=1), set()
    for text in texts:
        assert (text in table) == (text in known)
        assert table.add(text) == (text not in known)
        known.add(text)
    assert len(table) == len(known)
    assert table.forgotten == 0


def test_a_full_table_forgets_and_says_so_but_invents_nothing():
    table = Fingerprints(mebibytes=1)
    room = int((1 << 17) * 0.75)
    assert all(table.add(str(i)) for i in range(room + 1000)), "no text was taken for another"
    assert len(table) == room
    assert table.forgotten == 1000
    assert not table.add("0")
    assert table.add(str(room)), "what was forgotten is new again"


def test_fingerprints_are_the_same_everywhere():
    assert fingerprint("a") == 0x2F42665B399EF840
    assert fingerprint("a", seed=1) == 0x09869BC99CA23923


@pytest.mark.parametrize(
    ("one", "other"), [("A  b", "a b"), ("Straße", "STRASSE"), ("e\u0301", "é"), ("ﬁn", "fin"), ("a\u00a0b ", "a b")]
)
def test_folding_hides_case_space_and_form(one, other):
    assert folded(one) == folded(other)
