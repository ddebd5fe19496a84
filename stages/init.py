"""Stage `init`: what each selected variant starts from, by digest. Usage: init.py BUILD OUT"""

import sys
from pathlib import Path

from mtbert import errors, inputs

if __name__ == "__main__":
    with errors.shown_plainly():
        build = Path(sys.argv[1])
        inputs.write(build / "plan", build, Path(sys.argv[2]))
