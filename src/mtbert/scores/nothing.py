"""What a stage's folder holds if it holds nothing else: DVC warns of an output that is empty, each time it saves it."""

from pathlib import Path

from mtbert import files

FILE = "nothing.txt"


def explain(folder: Path, reason: str) -> None:
    """Write why a stage's folder is empty into it; remove that file where the folder is not."""
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if names - {FILE}:
        (folder / FILE).unlink(missing_ok=True)
    else:
        files.write_text(folder / FILE, f"{reason}\n")
