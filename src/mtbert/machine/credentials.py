"""Keep credentials out of messages and files."""

import os
import re

# One slash where the address has gone through a Path. Up to the last @, since a password may hold any character.
ADDRESS = re.compile(r"(\w:/{1,2})(?!/)\S+@")
SECRET = re.compile(r"(PASSWORD|TOKEN|SECRET|ACCESS_KEY|ACCESS_KEY_ID|API_KEY|CONNECTION_STRING)$")
SHORTEST = 4  # a shorter value would match within ordinary words


def masked(text: str) -> str:
    """Replace with *** the user and password of any address, and the value of every variable with a secret's name.

    Such names are MLFLOW_TRACKING_PASSWORD, HF_TOKEN and AWS_SECRET_ACCESS_KEY.
    """
    secrets = {value for name, value in os.environ.items() if SECRET.search(name) and len(value) >= SHORTEST}
    for secret in sorted(secrets, key=len, reverse=True):  # one may be the beginning of another
        text = text.replace(secret, "***")
    return ADDRESS.sub(r"\1***@", text)
