"""Read records from the text of CSV, TSV and JSON lines; imports neither torch nor pandas, so commands start fast."""

import csv
import gzip
import io
import itertools
import json
import re
import zlib
from collections.abc import Iterator
from typing import Any

from mtbert.errors import DataError

GZIP = ".gz"
SNIFFED, FIRST_ROWS = 2**16, 20  # characters and rows by which a separator is told
LINE_END = re.compile(r"[\r\n]")
NumberedRow = tuple[int, dict[str, Any]]  # the line on which it starts, from 1, and its values by column


def unpacked(content: bytes, name: str) -> bytes:
    """Return what a file named .gz holds, and any other as it is; DataError where it is damaged."""
    if not name.endswith(GZIP):
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{name}: not a whole gzip file: {error}") from None


def decoded(content: bytes, name: str, encoding: str = "utf-8", remedy: str = "") -> str:
    """Decode a text, with or without a byte order mark; DataError with line and remedy where it is something else."""
    try:
        text = content.decode("utf-8-sig" if encoding == "utf-8" else encoding)
    except LookupError:
        raise DataError(f"{name}: {encoding!r} is no encoding that Python knows{remedy}") from None
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise DataError(f"{name}, line {line}: not {encoding.upper()} text{remedy}") from None
    if (at := text.find("\0")) >= 0:  # no file of text has one, and UTF-16 has many
        raise DataError(f"{name}, line {text.count(chr(10), 0, at) + 1}: it holds a NUL byte, as no text does{remedy}")
    return text


def separator_of(text: str) -> str:
    """Tell what separates the columns: tabs where the header has one, else commas or semicolons.

    It is the one by which the first rows have as many fields as the header, at least two.
    """
    if "\t" in next(lines(text), ""):
        return "\t"
    return max(",", ";", key=lambda separator: _columns(text, separator))


def _columns(text: str, separator: str) -> tuple[bool, int]:
    """Return whether all of the first rows have as many fields as the header, and how many it has."""
    start = io.StringIO(text[:SNIFFED], newline="")
    try:
        header, *rows = itertools.islice(csv.reader(start, delimiter=separator), FIRST_ROWS)
    except (csv.Error, ValueError):  # ValueError: no row at all
        return False, 0
    whole = rows if len(text) <= SNIFFED else rows[:-1]  # the last one may be cut off
    return len(header) > 1 and all(len(row) in (0, len(header)) for row in whole), len(header)


def lines(text: str) -> Iterator[str]:
    """Yield the lines of a text, which end with \\n, \\r\\n or \\r alone, not with U+2028 or a form feed."""
    return (line.removesuffix("\n") for line in io.StringIO(text, newline=None))


def separated(text: str, name: str, separator: str) -> Iterator[NumberedRow]:
    """Yield the rows of CSV or TSV with a header; DataError, with the line, where it is malformed."""
    reader, line = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True), 1
    try:
        header = next(reader, [])
        if doubled := sorted({column for column in header if header.count(column) > 1}):
            raise DataError(f"{name}, line 1: columns come twice: {', '.join(doubled)}")
        line = reader.line_num + 1
        for fields in reader:
            if any(LINE_END.search(field) and field.count(separator) >= max(1, len(header) - 1) for field in fields):
                raise DataError(
                    f"{name}, line {line}: a quoted text holds what looks like a further row; a quote may lack its "
                    "other one, or those within a text are not doubled"
                )
            if not fields and len(header) == 1:
                fields = [""]  # in a file of one column an empty line is an empty value
            if len(fields) == len(header):
                yield line, dict(zip(header, fields, strict=True))
            elif fields:  # an empty line is not a row of several columns
                counts = f"it has {len(fields)} fields, the header {len(header)}"
                raise DataError(f"{name}, line {line}: {counts}; quote a text that holds {separator!r}")
            line = reader.line_num + 1
    except csv.Error as error:
        unclosed = str(error).startswith("unexpected end")
        told = "a quote opens here and nothing closes it; a quote within a text is doubled" if unclosed else error
        raise DataError(f"{name}, line {line}: {told}") from None


def json_lines(text: str, name: str) -> Iterator[NumberedRow]:
    """Yield the JSON objects of a text, one from each line; DataError, with the line, for anything else."""
    for number, line in enumerate(lines(text), 1):
        if not line.strip():
            continue
        try:
            values = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{name}, line {number}: not JSON: {error}") from None
        if not isinstance(values, dict):
            raise DataError(f'{name}, line {number}: not a JSON object, {{"column": value, ...}}')
        yield number, values
