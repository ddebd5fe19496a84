"""Add to MkDocs' pages: README.md, CONTRIBUTING.md, the report, and a page of reference a package."""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
REPORT = "reports/laptop/index.html"
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "reports/laptop/README.md": REPORT}
IMAGE = re.compile(r"!\[[^]\n]*\]\(([^)\s]+)\)")
LINK = re.compile(r"(?<!!)\[([^]\n]+)\]\(((?!https?:|#)[^)\s]+)\)")


def on_config(config: Any) -> Any:
    """List the pages of reference at the end of the navigation."""
    config.nav = [*config.nav, {"Reference": [{name: f"reference/{name}.md"} for name in map(_name, _packages())]}]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made of other files."""
    for name in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, PAGES[name], content=LINK.sub(_within_docs, text)))
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for picture in IMAGE.findall(page.read_text(encoding="utf-8")):
            file = (page.parent / picture).resolve().relative_to(ROOT).as_posix()
            is_there = page.name != "README.md" and file.startswith("docs/")  # MkDocs has found it
            if not is_there and files.get_file_from_path(file) is None:
                files.append(File(file, str(ROOT), config.site_dir, use_directory_urls=False))
    files.append(File(REPORT, str(ROOT), config.site_dir, use_directory_urls=False))
    for package in _packages():
        name = _name(package)
        files.append(File.generated(config, f"reference/{name}.md", content=_reference(name, package)))
    return files


def on_page_markdown(markdown: str, page: Page, config: Any, files: Files) -> str:
    """Leave the text alone of a link to a file of the repository: the site does not hold it."""
    here = ROOT / "docs" / Path(page.file.src_uri).parent
    if page.file.src_uri in PAGES.values():
        return markdown
    return LINK.sub(
        lambda link: _outside(link, here),
        markdown.replace("](../reports/laptop/pictures/", "](reports/laptop/pictures/"),
    )


def _within_docs(link: re.Match[str]) -> str:
    text, target = link.groups()
    if target.startswith("docs/"):
        return f"[{text}]({target.removeprefix('docs/')})"
    return _outside(link, ROOT)


def _outside(link: re.Match[str], here: Path) -> str:
    text, target = link.groups()
    file = (here / target.partition("#")[0]).resolve()
    if page := PAGES.get(str(file.relative_to(ROOT))):
        return f"[{text}]({page})"
    if file.is_relative_to(ROOT / "docs") or not file.exists():  # a dead link stays, for MkDocs to complain of
        return link[0]
    return text if text.startswith("`") else f"{text} (`{file.relative_to(ROOT)}`)"


def _packages() -> list[Path]:
    return sorted(file.parent for file in SOURCE.rglob("__init__.py"))


def _name(package: Path) -> str:
    return ".".join(package.relative_to(SOURCE).parts)


def _reference(name: str, package: Path) -> str:
    modules = [name, *(f"{name}.{file.stem}" for file in sorted(package.glob("*.py")) if not file.stem.startswith("_"))]
    return "\n\n".join([f"# {name}", *(f"::: {module}" for module in modules)]) + "\n"
