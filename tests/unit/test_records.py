"""Records of text files, each with its place."""

import csv

import pytest

from mtbert.errors import DataError
from mtbert.records import decoded, json_lines, separated


def test_rows_name_the_line_on_which_they_end():
    text = 'id,text\n1,"two\nlines"\n\n2,one\n'
    assert list(separated(text, "a.csv", ",")) == [
        ("line 3", {"id": "1", "text": "two\nlines"}),
        ("line 5", {"id": "2", "text": "one"}),
    ]


def test_json_lines_keep_their_types_and_line_ends_within_text():
    assert list(json_lines('{"id": 1}\r\n\n{"text": "a\u2028b"}', "a.jsonl")) == [
        ("line 1", {"id": 1}),
        ("line 3", {"text": "a\u2028b"}),
    ]


def test_a_byte_order_mark_is_not_text():
    assert decoded(b"\xef\xbb\xbfid", "a.csv") == "id"
    with pytest.raises(DataError, match=r"^a\.csv, line 2: not UTF-8 text$"):
        decoded(b"id\n\xff", "a.csv")


def test_fields_may_be_long_and_the_limit_of_others_stays():
    before = csv.field_size_limit()
    long = "x" * (before + 1)
    assert list(separated(f"text\n{long}\n", "a.csv", ",")) == [("line 2", {"text": long})]
    assert csv.field_size_limit() == before
