"""Read records from the text of CSV, TSV and JSON lines; imports neither torch nor pandas, so commands start fast."""

import codecs
import csv
import functools
import gzip
import io
import itertools
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mtbert.errors import DataError

GZIP = ".gz"
SNIFFED, FIRST_ROWS = 2**16, 20  # characters and rows by which a separator is chosen
LINE_END = re.compile(r"[\r\n]")
OF_EXCEL = re.compile(r"sep=.[\r\n]")  # a line that Excel writes before the header
# What is written in quotes, beside what holds the separator: what some reader takes for the end of a line, and blanks
# at an end, which some reader drops. Python's csv quoted no lone \r before 3.11.9.
QUOTED = re.compile(r"""["\r\n\v\f\x1c-\x1e\x85\u2028\u2029]|^\s|\s$""")
MARK = "\ufeff"  # of the byte order, at the start of a file
NAMELESS = "one without a name"
UNCLOSED = "a quote opens here and nothing closes it; a quote within a text is doubled"
SAVE_AS_UTF8 = "; save it as UTF-8"
NO_TEXT = {  # first bytes of files that are no text of rows: what they are, and what to do
    b"\x1f\x8b": "compressed by gzip; unpack it, or let its name end in .gz",
    b"PK\x03\x04": "a spreadsheet or a zip archive; save its table as .csv",
    b"\xd0\xcf\x11\xe0": "a spreadsheet; save its table as .csv",
    b"PAR1": "a Parquet file; let its name end in .parquet",
    b"version https://git-lfs": "a pointer of Git LFS; `git lfs pull` fetches the file",
    b"<!DOCTYPE html": "a web page; fetch the file again",
}
# ISO 8859 has control characters where Windows has marks such as curly quotes. NEL is a line's end of mainframes.
OF_WINDOWS = re.compile(r"[\x80-\x84\x86-\x9f]")


class NumberedRow(NamedTuple):
    """A row's values by column, and the line on which it starts, from 1."""

    line: int
    values: dict[str, Any]


def unpacked(content: bytes, name: str) -> bytes:
    """Return what a file named .gz holds, and any other as it is; DataError where it is damaged."""
    if not name.lower().endswith(GZIP):
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{name}: not a whole gzip file: {error}") from None


def decoded(content: bytes, name: str, encoding: str = "utf-8", remedy: str = SAVE_AS_UTF8) -> str:
    """Decode a text, with or without a byte order mark; DataError with line and remedy where it is something else."""
    if kind := next((kind for start, kind in NO_TEXT.items() if content.startswith(start)), None):
        raise DataError(f"{name}: it holds no rows, but is {kind}")
    try:
        codec = codecs.lookup(encoding).name
        text = content.decode(encoding).lstrip(MARK)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise DataError(f"{name}, line {line}: not {encoding.upper()} text{remedy}") from None
    except (LookupError, UnicodeError):  # UnicodeError: `undefined` decodes nothing
        raise DataError(f"{name}: {encoding!r} is no encoding that Python knows{remedy}") from None
    if not codec.startswith("utf") and _is_utf8(content):
        fault = f"it is UTF-8 text, and its encoding is said to be {encoding}"
        raise DataError(f"{name}: {fault}; leave the encoding out, and save files of another one as UTF-8")
    if codec.startswith("iso8859") and (odd := OF_WINDOWS.search(text)):
        line = text.count("\n", 0, odd.start()) + 1
        fault = f"it holds {odd[0]!r}, which is no character of {encoding}, but may be one of Windows"
        raise DataError(f"{name}, line {line}: {fault}; set the encoding to cp1252 or the like")
    position = text.find("\0")  # no file of text has one, and UTF-16 has many
    if position >= 0:
        line = text.count("\n", 0, position) + 1
        raise DataError(f"{name}, line {line}: it holds a NUL byte, as no text does{remedy}")
    return text


def _is_utf8(content: bytes) -> bool:
    """Return whether bytes are UTF-8 text that another encoding would spoil, so not ASCII alone."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return not content.isascii()


def separator_of(text: str) -> str:
    """Return what separates the columns: tabs where the header has one, else commas or semicolons.

    It is the one by which the first rows have as many fields as the header, at least two.
    """
    if "\t" in next(lines(text), ""):
        return "\t"
    return max(",", ";", key=lambda separator: _fit(text, separator))


def _fit(text: str, separator: str) -> tuple[bool, int]:
    """Return how well a separator fits: whether the first rows have as many fields as the header, and how many."""
    start = io.StringIO(text[:SNIFFED], newline="")
    try:
        header, *rows = itertools.islice(csv.reader(start, delimiter=separator), FIRST_ROWS)
    except (csv.Error, ValueError):  # ValueError: no row at all
        return False, 0
    if len(text) > SNIFFED:
        rows = rows[:-1]  # the last one may be cut off
    is_even = len(header) > 1 and all(len(row) in (0, len(header)) for row in rows)
    return is_even, len(header)


def lines(text: str) -> Iterator[str]:
    """Yield the lines of a text, which end with \\n, \\r\\n or \\r alone, not with U+2028 or a form feed."""
    return (line.removesuffix("\n") for line in io.StringIO(text, newline=None))


def separated(text: str, name: str, separator: str) -> Iterator[NumberedRow]:
    """Yield the rows of CSV or TSV with a header; DataError, with the line, where it is malformed."""
    if OF_EXCEL.match(text):
        raise DataError(f"{name}, line 1: it says what separates the columns, to Excel alone; remove this line")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    line = 1  # on which the next row starts
    try:
        header = next(reader, [])
        columns = _columns(header)
        if doubled := sorted({column for column in columns if columns.count(column) > 1}):
            names = ", ".join(column.strip() or NAMELESS for column in doubled)
            raise DataError(f"{name}, line 1: columns come twice: {names}")
        line = reader.line_num + 1
        for fields in reader:
            if not fields and len(header) == 1:
                fields = [""]  # in a file of one column an empty line is an empty value
            if fields:  # an empty line is not a row of several columns
                place = f"{name}, line {line}"
                _check_fields(fields, header, separator, place, has_lines=reader.line_num > line)
                if surplus := [*filter(None, fields[len(columns) :])]:
                    fault = f"it holds {surplus[0]!r} in a column without a name"
                    raise DataError(f"{place}: {fault}; name the column in line 1, or empty it")
                yield NumberedRow(line, dict(zip(columns, fields, strict=False)))
            line = reader.line_num + 1
    except csv.Error as error:
        raise DataError(f"{name}, line {line}: {_fault(str(error))}") from None


def repeats_header(values: Mapping[str, Any]) -> bool:
    """Return whether a row of several columns says their names, as where files were joined with their headers."""
    return len(values) > 1 and all(str(value).removeprefix(MARK) == column for column, value in values.items())


def _columns(header: Sequence[str]) -> list[str]:
    """Return a header's columns, less those without a name at its end, as spreadsheets add them; one alone stays."""
    columns = [*header]
    if header.count("") > 1:
        while columns and not columns[-1]:
            columns.pop()
    return columns


def _fault(error: str) -> str:
    """Return what is wrong with a row of which the module csv says this."""
    if error.startswith("unexpected end"):
        return UNCLOSED
    if "field larger" in error:
        most = f"a field has more than {csv.field_size_limit():,} characters, the most that are allowed"
        return f"{most}; shorten it, or close the quote that opens in it"
    fault = "a quoted field goes on behind the quote that closes it"
    remedy = 'double the quotes within a text ("" in place of \\"), and quote a text that starts with one'
    return f"{fault}; {remedy}; or save the file as JSON lines, .jsonl"


def _check_fields(fields: Sequence[str], header: Sequence[str], separator: str, place: str, has_lines: bool) -> None:
    """Raise DataError where a row has not as many fields as the header, or one of several lines seems to be two."""
    if has_lines and len(header) > 1:
        _check_texts(fields, len(header), separator, place)
    if len(fields) != len(header):
        counts = f"it has {len(fields)} fields, the header {len(header)}"
        raise DataError(f"{place}: {counts}; quote a text that holds {separator!r}")


@functools.cache
def _separates(separator: str) -> re.Pattern[str]:
    """Return the pattern of what separates columns within a quoted text whose quote lacks its other one.

    A blank, or nothing, follows a comma of a text, and three digits one that parts thousands.
    """
    thousands = "|(?<=[0-9],)[0-9]{3}(?![0-9])" if separator == "," else ""
    return re.compile(rf"{re.escape(separator)}(?! |${thousands})")


def _check_texts(fields: Sequence[str], columns: int, separator: str, place: str) -> None:
    """Raise DataError where a field of a row of several lines looks like a further row."""
    for column, field in enumerate(fields):
        is_before_empty = column < len(fields) - 1 and not fields[-1]
        if _holds_a_row(field, column, columns, separator, is_before_empty):
            raise DataError(
                f"{place}: a quoted text holds what looks like a further row; a quote may lack its other one, or those "
                "within a text are not doubled; if the text is right, save the file as JSON lines, .jsonl"
            )


def _holds_a_row(field: str, column: int, columns: int, separator: str, is_before_empty: bool) -> bool:
    """Return whether an unclosed quote seems to have swallowed the start of the next row.

    Args:
        field: of a row of several lines.
        column: its number, from 0.
        columns: how many the header has.
        separator: what separates the columns.
        is_before_empty: whether the row's last column is empty, so that this may be why a line ends with a separator.
    """
    first, *_, last = LINE_END.split(field) if LINE_END.search(field) else ("", "")
    of_first, of_last = (len(_separates(separator).findall(line)) for line in (first, last))
    if of_first and is_before_empty and first.endswith(separator):
        of_first += 1
    return bool(last) and of_first >= columns - 1 - column and of_last >= column


def as_separated(columns: Sequence[str], rows: Iterable[Mapping[str, Any]], separator: str) -> str:
    """Return the text of a CSV or TSV file from which every reader has the same rows; a missing value is empty."""
    table = [columns, *([row.get(column) for column in columns] for row in rows)]
    return "".join(f"{separator.join(_field(value, separator) for value in values)}\n" for values in table)


def _field(value: Any, separator: str) -> str:
    """Return a value as a field of CSV; an empty text is quoted, so that a row of one column is no empty line."""
    text = "" if value is None else str(value)
    is_quoted = separator in text or QUOTED.search(text) or value == ""
    return '"{}"'.format(text.replace('"', '""')) if is_quoted else text


def json_lines(text: str, name: str) -> Iterator[NumberedRow]:
    """Yield the JSON objects of a text, one from each line; DataError, with the line, for anything else."""
    for number, line in enumerate(lines(text), 1):
        if not line.strip():
            continue
        try:
            values = json.loads(line, object_pairs_hook=object_of_pairs)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{name}, line {number}: not JSON: {error}") from None
        if not isinstance(values, dict):
            raise DataError(f'{name}, line {number}: not a JSON object, {{"column": value, ...}}')
        yield NumberedRow(number, values)


def object_of_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the values of a JSON object by key; ValueError where a key comes twice."""
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"a key comes twice: {next(key for key in keys if keys.count(key) > 1)}")
    return values
