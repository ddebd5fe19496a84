"""Where results are kept: results.json, and the README's tables between their marks."""

import platform
from pathlib import Path
from typing import Any

import torch
from tabulate import tabulate

from mtbert import files
from mtbert.errors import MtbertError
from mtbert.training import logs


def machine() -> dict[str, Any]:
    """On what it was measured; nothing that depends on the clock or the host's name."""
    versions = {name: logs.versions().get(name) for name in ("torch", "transformers")}
    return {
        **logs.machine(), "threads": torch.get_num_threads(), "python": platform.python_version(), **versions
    }  # fmt: skip


def table(rows: list[dict[str, Any]]) -> str:
    """Rows as text; numbers to three digits, nothing for what is not known."""
    shown = [{name: _shown(value) for name, value in row.items()} for row in rows]
    return tabulate(shown, headers="keys", tablefmt="simple", disable_numparse=True, missingval="")


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return "" if value is None else str(value)


def keep(directory: Path, name: str, content: dict[str, Any], tables: dict[str, list[dict[str, Any]]]) -> None:
    """Replace the part `name` of results.json, and of README.md what stands between `<!-- name -->` and its end.

    Raises:
        MtbertError: the README lacks the marks.
    """
    results = directory / "results.json"
    all_parts = files.read_json(results) if results.exists() else {}
    files.write_json(results, all_parts | {name: {"machine": machine(), **content}})
    readme = directory / "README.md"
    text = readme.read_text(encoding="utf-8")
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    if start not in text or end not in text:
        raise MtbertError(f"{readme} lacks {start} or {end}, between which its table goes")
    before = text.split(start)[0]
    after = text.split(end)[1]
    machine_in_words = ", ".join(f"{key} {value}" for key, value in machine().items() if value)
    blocks = [f"{title}\n\n```\n{table(rows)}\n```" for title, rows in tables.items()]
    files.write_text(readme, before + "\n\n".join([start, f"Measured on: {machine_in_words}.", *blocks, end]) + after)
