"""`python -m mtbert`: the command `mtbert`, where it is not on the path."""

from mtbert.cli import main

if __name__ == "__main__":
    main()
