"""Whether folders are as they were written."""

from pathlib import Path

import pytest

from mtbert import files
from mtbert.errors import DataError
from mtbert.provenance import seals


def sealed(folder: Path) -> Path:
    for name, text in {"a.txt": "a", "b.txt": "b", "c/d.txt": "d"}.items():
        files.write_text(folder / name, text)
    seals.seal(folder)
    return folder


def test_a_sealed_folder_holds_the_digest_of_each_of_its_files(tmp_path: Path):
    assert files.read_json(sealed(tmp_path / "run") / "digests.json") == {
        "a.txt": "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
        "b.txt": "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d",
        "c/d.txt": "18ac3e7343f016890c510e93f935261169d9e3f565436429830faf0934f4f8e4",
    }
    seals.check(tmp_path / "run")


def test_what_is_altered_missing_or_too_many_is_named_with_what_makes_it_again(tmp_path: Path):
    run = sealed(tmp_path / "runs/pals/1")
    (run / "a.txt").write_text("A", encoding="utf-8")
    (run / "b.txt").unlink()
    (run / "c" / ".e.txt").touch()
    with pytest.raises(DataError) as error:
        seals.check(run)
    assert str(error.value) == (
        f"{run} is not as it was written (altered: a.txt, b.txt (missing), c/.e.txt (surplus)); "
        f"`rm -r {run} && chmod -R u+w .dvc/cache && dvc repro train@pals-1` makes it again"
    )


def test_of_a_sealed_folder_only_what_is_asked_for_is_read(tmp_path: Path):
    run = sealed(tmp_path / "run")
    (run / "a.txt").write_text("A", encoding="utf-8")
    seals.check(run, ["c/d.txt", "neither here nor there"])
    with pytest.raises(DataError, match=r"altered: a\.txt"):
        seals.check(run, ["a.txt"])


def test_only_a_run_from_elsewhere_lacks_weights(tmp_path: Path) -> None:
    files.write_text(tmp_path / "metrics.json", "{}")
    seals.seal(tmp_path)
    assert not seals.lacks_weights(tmp_path)
    files.write_text(tmp_path / "elsewhere.json", "{}")
    seals.seal(tmp_path)
    assert seals.lacks_weights(tmp_path)
