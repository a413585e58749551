from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data import lines
from dragoman.data.lines import BYTE_ORDER_MARK, WINDOWS_LINE_END, Fault, Reason, checked, fault_in, fit

NASTY = [
    b"\n",
    b"\r",
    b"\r\n",
    b"\0",
    b"\xff",
    b"\xc3",
    b"\xa9",
    b"\xe2\x80\xa8",
    b"\xc2\x85",
    b"\x0b",
    b"\xef\xbb\xbf",
]
CONTENT = st.lists(st.one_of(st.sampled_from(NASTY), st.binary(max_size=6), st.just(b"abc d")), max_size=20).map(
    b"".join
)


def read(path, *, longest=1000):
    notes = Counter()
    return list(checked(path, longest=longest, notes=notes)), notes


@pytest.fixture
def written(tmp_path):
    def write(content: bytes):
        path = tmp_path / "text"
        path.write_bytes(content)
        return path

    return write


@given(CONTENT, st.integers(1, 12))
def test_the_fast_way_through_a_block_agrees_with_the_slow_one(block, longest):
    fast_notes, slow_notes = Counter(), Counter()
    fast = lines._fast(block, longest=longest, notes=fast_notes)
    slow = lines._slow(block, longest=longest, notes=slow_notes)
    if fast:
        assert fast == slow
        assert fast_notes == slow_notes
    elif max(map(len, block.split(b"\n"))) * 4 <= longest:
        assert not slow or any(isinstance(line, Fault) for line in slow)


@given(st.lists(st.text(st.sampled_from("ab \0\n\r\u2028\x85\v"), max_size=4), max_size=5))
def test_many_texts_are_fit_when_each_of_them_is(texts):
    assert fit(texts) == all(fault_in(text) is None for text in texts)


@given(content=CONTENT, longest=st.integers(1, 40), block=st.integers(1, 9))
def test_lines_are_those_between_line_feeds_whatever_the_size_of_blocks(tmp_path_factory, content, longest, block):
    path = tmp_path_factory.mktemp("lines") / "text"
    path.write_bytes(content)
    usual = read(path, longest=longest)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_BLOCK", block)
        assert read(path, longest=longest) == usual
    body = content.removeprefix(b"\xef\xbb\xbf")
    assert len(usual[0]) == body.count(b"\n") + (not body.endswith(b"\n") and body != b"")
    for found, raw in zip(usual[0], body.split(b"\n"), strict=False):
        if isinstance(found, str):
            assert found.encode() in (raw, raw.removesuffix(b"\r"))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"a\n\n", ["a", ""]),
        (b"a\nb", ["a", "b"]),
        (b"\xef\xbb\xbf", []),
        (b"\xef\xbb\xbf\n", [""]),
        ("é\u200bא\u202e\ufeff\n".encode(), ["é\u200bא\u202e\ufeff"]),
        (b"a\r\nb\r\n", ["a", "b"]),
    ],
)
def test_what_is_accepted(written, content, expected):
    assert read(written(content))[0] == expected


@pytest.mark.parametrize(
    ("content", "reason", "detail"),
    [
        (b"ab\xffc", Reason.ENCODING, "byte 0xFF at position 3"),
        (b"\xff\xfea\0", Reason.ENCODING, "byte 0xFF at position 1; the file looks like UTF-16"),
        (b"\xed\xa0\x80", Reason.ENCODING, "byte 0xED at position 1"),
        (b"a\0", Reason.NUL, "U+0000 at character 2"),
        (b"a\rb", Reason.LINE_BREAK, "U+000D at character 2"),
        (b"a\r", Reason.LINE_BREAK, "U+000D at character 2"),
        (b"a\r\r\n", Reason.LINE_BREAK, "U+000D at character 2"),
        ("a\x85".encode(), Reason.LINE_BREAK, "U+0085 at character 2"),
        ("\u2029".encode(), Reason.LINE_BREAK, "U+2029 at character 1"),
        (b"x" * 1001, Reason.TOO_LONG, "more than 1,000 bytes"),
    ],
)
def test_what_is_a_fault(written, content, reason, detail):
    assert read(written(content))[0] == [Fault(reason, detail)]


def test_what_was_mended_is_counted(written):
    _, notes = read(written(b"\xef\xbb\xbfa\r\nb\nc\r\n"))
    assert notes == {BYTE_ORDER_MARK: 1, WINDOWS_LINE_END: 2}


@pytest.mark.parametrize("size", [999, 1000, 1001, 1003, 1010, 70_000, 200_000])
@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_only_the_text_of_a_line_counts_as_its_length(written, size, end, mark):
    found, _ = read(written(mark + b"x" * size + end + b"next\n" * bool(end)))
    first = "x" * size if size <= 1000 else Fault(Reason.TOO_LONG, "more than 1,000 bytes")
    assert found == [first, *(["next"] if end else [])]


def test_an_over_long_line_takes_no_memory(written):
    path = written(b"x" * 10_000_000 + b"\nnext\n" + b"y" * 5_000_000)
    blocks = list(lines.blocks(path, longest=1000))
    assert max(map(len, blocks)) < 100_000
    assert [type(line) for line in read(path)[0]] == [Fault, str, Fault]
