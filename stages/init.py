"""Stage `init`: what each selected variant starts from, by digest. Usage: init.py BUILD OUT"""

from mtbert import errors, inputs

if __name__ == "__main__":
    with errors.shown_plainly():
        build, out = errors.arguments("BUILD", "OUT")
        inputs.write(build / "plan", build, out)
