"""What is printed, and where."""

from __future__ import annotations

from dragoman.cli import console


def test_a_table_aligns_text_left_and_numbers_right(capsys):
    console.table(["name", "pairs", "share"], [["日本", 1200, 0.5], ["de", 7, 12.25]])
    assert capsys.readouterr().out.splitlines() == [
        "name  pairs  share",
        "----  -----  -----",
        "日本  1,200   0.50",
        "de        7  12.25",
    ]


def test_json_is_one_line(capsys):
    console.json({"a": [1, "é"]})
    assert capsys.readouterr().out == '{"a":[1,"é"]}\n'


def test_progress_says_a_line_now_and_then(capsys, monkeypatch):
    monkeypatch.setattr(console, "_SECONDS_BETWEEN_LINES", 0.0)
    assert list(console.progress(range(3), total=3, label="reading", unit="pairs")) == [0, 1, 2]
    said = capsys.readouterr()
    assert said.out == ""
    assert "reading: 1 of 3 (33%) pairs" in said.err


def test_warnings_and_errors_go_to_standard_error(capsys):
    console.warn("odd")
    console.error("wrong")
    assert capsys.readouterr().err == "warning: odd\nerror: wrong\n"
