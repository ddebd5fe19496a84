"""Records of text files, each with its place."""

import pytest

from mtbert.data.records import as_separated, decoded, json_lines, repeats_header, separated
from mtbert.errors import DataError


def test_rows_name_the_line_on_which_they_start():
    assert list(separated('id,text\n1,"two\nlines"\n\n2,one\n', "a.csv", ",")) == [
        (2, {"id": "1", "text": "two\nlines"}),
        (5, {"id": "2", "text": "one"}),
    ]


def test_an_empty_line_is_an_empty_value_where_there_is_one_column():
    assert list(separated("text\na\n\nb\n", "a.csv", ",")) == [
        (2, {"text": "a"}),
        (3, {"text": ""}),
        (4, {"text": "b"}),
    ]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("id,text,,\n1,a,,\n", {"id": "1", "text": "a"}),
        (",text,\n1,a,\n", {"": "1", "text": "a"}),
        ("text,\na,1\n", {"text": "a", "": "1"}),
    ],
)
def test_empty_columns_without_a_name_that_a_spreadsheet_adds_at_the_end_are_none(text: str, values: dict[str, str]):
    assert list(separated(text, "a.csv", ",")) == [(2, values)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('"id\n', "a.csv, line 1: a quote opens here and nothing closes it; a quote within a text is doubled"),
        ("id,id\n", "a.csv, line 1: columns come twice: id"),
        (",,id\n", "a.csv, line 1: columns come twice: one without a name"),
        (
            "id,text,,\n1,a,,\n2,b,c,\n",
            "a.csv, line 3: it holds 'c' in a column without a name; name the column in line 1",
        ),
        (
            f"id\n1\n{'a' * 131_073}\n",
            "a.csv, line 3: a field has more than 131,072 characters, the most that are allowed; shorten it, or",
        ),
        ("id,text\n1,a,b\n", "a.csv, line 2: it has 3 fields, the header 2; quote a text that holds ','"),
        (
            'id,text\n1,"a"b\n',
            "a.csv, line 2: a quoted field goes on behind the quote that closes it; double the quotes within a text "
            '("" in place of \\"), and quote a text that starts with one; or save the file as JSON lines, .jsonl',
        ),
        ('id,text\n1,a\n2,"b\n3,c\n', "a.csv, line 3: a quote opens here and nothing closes it"),
        ('id,text\n1,"a\n2,b"\n', "a.csv, line 2: a quoted text holds what looks like a further row; "),
        ('text,label\n"a, b,1\nc",2\n', "a.csv, line 2: a quoted text holds what looks like a further row; "),
        ('id,text,label\n1,"a,0\n2,b",1\n', "a.csv, line 2: a quoted text holds what looks like a further row; "),
        ('id,text,label\n1,"a,0\n2,b,0\n3,c",1\n', "a.csv, line 2: a quoted text holds what looks like a further row"),
        (
            'text,label,note\n"a film,1,\nother",0,\n',
            "a.csv, line 2: a quoted text holds what looks like a further row",
        ),
        ('text,a,b,c\n"a film,1,,\nother",0,,\n', "a.csv, line 2: a quoted text holds what looks like a further row"),
        ('text,label\n"a film,1\n1,000 others",0\n', "a.csv, line 2: a quoted text holds what looks like a further"),
        ("sep=,\nid,text\n1,a\n", "a.csv, line 1: it says what separates the columns, to Excel alone; remove this"),
    ],
)
def test_a_malformed_row_is_told_by_its_line(text: str, told: str):
    with pytest.raises(DataError) as error:
        list(separated(text, "a.csv", ","))
    assert str(error.value).startswith(told)


@pytest.mark.parametrize(
    ("header", "text"),
    [
        ("text,label", "Dear sir,\nplease help"),
        ("text,label", "one, two, and three\nfour"),
        ("label,text", "Hello Ann,\nI am well, and you?"),
        ("id,text,label", "one,two,three\nfour"),
        ("text,label", "It cost 10,000 in 1999.\nIt is worth 1,250,000."),
        ("text,empty", "Dear sir,\nplease help"),
        ("text,label,empty", "Dear sir,\nplease help"),
        ("text", "one,two\nthree,four"),
    ],
)
def test_a_text_of_several_lines_may_hold_commas(header: str, text: str):
    row = {column: {"text": text, "empty": ""}.get(column, "1") for column in header.split(",")}
    written = ",".join(f'"{value}"' for value in row.values())
    assert list(separated(f"{header}\n{written}\n", "a.csv", ",")) == [(2, row)]


def test_json_lines_keep_their_types_and_line_ends_within_text():
    assert list(json_lines('{"id": 1}\r\n\n{"text": "a\u2028b"}', "a.jsonl")) == [
        (1, {"id": 1}),
        (3, {"text": "a\u2028b"}),
    ]


@pytest.mark.parametrize("line", ['{"id', "[1, 2]", "[" * 100_000, '{"id": 1, "id": 2}'])
def test_a_line_that_is_no_json_object_is_told(line: str):
    with pytest.raises(DataError, match=r"^a\.jsonl, line 2: not (JSON: |a JSON object)"):
        list(json_lines("{}\n" + line, "a.jsonl"))


def test_a_byte_order_mark_is_not_text():
    assert decoded(b"\xef\xbb\xbfid", "a.csv") == "id"
    assert decoded(b"\xef\xbb\xbfid", "a.csv", "UTF-8") == "id"
    with pytest.raises(DataError, match=r"^a\.csv, line 2: not UTF-8 text; save it as UTF-8$"):
        decoded(b"id\n\xff", "a.csv")


@pytest.mark.parametrize(
    ("content", "encoding", "told"),
    [
        (b"a\nb", "klingon", "a.csv: 'klingon' is no encoding that Python knows; set it"),
        (b"a\nb\0", "utf-8", "a.csv, line 2: it holds a NUL byte, as no text does; set it"),
        (b"a\n\xff", "utf-8", "a.csv, line 2: not UTF-8 text; set it"),
        (b"a", "undefined", "a.csv: 'undefined' is no encoding that Python knows; set it"),
        (
            "é".encode(), "cp1252",
            "a.csv: it is UTF-8 text, and its encoding is said to be cp1252; leave the encoding out, and save files of "
            "another one as UTF-8",
        ),
    ],
)  # fmt: skip
def test_what_is_no_text_is_told(content: bytes, encoding: str, told: str):
    with pytest.raises(DataError) as error:
        decoded(content, "a.csv", encoding, "; set it")
    assert str(error.value) == told


@pytest.mark.parametrize(
    ("row", "line"),
    [
        ({"a": "x", "b": 0.25}, "x,0.25"),
        ({"a": None, "b": True}, ",True"),
        ({"a": "", "b": "x"}, '"",x'),
        ({"a": "x\ry", "b": ""}, '"x\ry",""'),
        ({"a": "x,y", "b": 'x "y"'}, '"x,y","x ""y"""'),
        ({"a": " x", "b": "x\u2028y"}, '" x","x\u2028y"'),
        ({"b": "x"}, ",x"),
    ],
)
def test_what_a_reader_might_take_for_something_else_is_quoted(row: dict[str, object], line: str):
    assert as_separated(["a", "b"], [row], ",") == f"a,b\n{line}\n"


def test_marks_of_the_byte_order_that_come_twice_are_no_text():
    assert decoded("\ufeff\ufeffid".encode(), "a.csv") == "id"


@pytest.mark.parametrize(
    ("row", "repeats"),
    [("a,b", True), ("\ufeffa,b", True), ("a,c", False), ("b,a", False)],
)
def test_a_row_that_repeats_the_header_is_known(row: str, repeats: bool):
    ((_, values),) = separated(f"a,b\n{row}\n", "a.csv", ",")
    assert repeats_header(values) is repeats


def test_a_text_of_one_column_may_be_called_like_it():
    assert not repeats_header({"text": "text"})


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            b"\x1f\x8b\x08\x00",
            "a.csv: it holds no rows, but is compressed by gzip; unpack it, or let its name end in .gz",
        ),
        (
            b"PK\x03\x04\x14\x00",
            "a.csv: it holds no rows, but is a spreadsheet or a zip archive; save its table as .csv",
        ),
        (b"PAR1", "a.csv: it holds no rows, but is a Parquet file; let its name end in .parquet"),
        (
            b"version https://git-lfs.github.com/spec/v1\n",
            "a.csv: it holds no rows, but is a pointer of Git LFS; `git lfs pull` fetches the file",
        ),
    ],
)
def test_what_holds_no_rows_is_said(content: bytes, told: str):
    with pytest.raises(DataError) as error:
        decoded(content, "a.csv")
    assert str(error.value) == told


def test_marks_of_windows_are_no_characters_of_iso_8859():
    content = "text\nit\u2019s \u00e9".encode("cp1252")
    with pytest.raises(
        DataError, match=r"^a\.csv, line 2: it holds '\\x92', which is no character of latin-1, but may "
    ):
        decoded(content, "a.csv", "latin-1")
    assert decoded(content, "a.csv", "cp1252") == "text\nit\u2019s \u00e9"
    assert decoded("\u00e9".encode("latin-1"), "a.csv", "latin-1") == "\u00e9"
