"""`mtbert predict`."""

from mtbert.errors import MtbertError


def main() -> None:
    """Predict with a trained model."""
    raise MtbertError("mtbert predict is being written")
