"""Look the pinned packages up among known faults: python .ci/audit.py requirements/*.lock.

Ends with status 1 where a package has a known fault. Where the advisories cannot be had (no network, a package index
without them, no pip-audit), it says plainly that the audit was not made, or for how many packages not, and ends with 0.
"""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

COMMAND = (sys.executable, "-m", "pip_audit", "--no-deps", "--disable-pip", "--progress-spinner=off", "--format=json")
NOT_MADE = "the audit for known faults was NOT made"


def verdict(report: Mapping[str, Any]) -> tuple[int, str]:
    """Exit status and text for pip-audit's report."""
    packages = report["dependencies"]
    looked_up = [package for package in packages if "skip_reason" not in package]
    if not looked_up:
        return 0, f"{NOT_MADE}: the package index has no advisories"
    faults = [
        f"{package['name']} {package['version']}: {fault['id']}, repaired in {fault['fix_versions']}"
        for package in looked_up
        for fault in package["vulns"]
    ]
    left = len(packages) - len(looked_up)
    told = [f"audit: {len(faults)} known faults in {len(looked_up)} packages", *faults]
    return int(bool(faults)), "\n".join(told + [f"{NOT_MADE} for {left} packages"] * bool(left))


def main() -> None:
    """Run pip-audit on the file that is named, and tell what came of it."""
    if importlib.util.find_spec("pip_audit") is None:
        print(f"{NOT_MADE}: pip-audit is not installed")
        return
    locks = [f"--requirement={lock}" for lock in sys.argv[1:]]
    done = subprocess.run([*COMMAND, *locks], capture_output=True, text=True, check=False)
    try:
        status, text = verdict(json.loads(done.stdout))
    except json.JSONDecodeError:
        # Without the error's text, which may name an address with a password.
        status, text = 0, f"{NOT_MADE}: pip-audit gave no report, as without a network; `python -m pip_audit` tells why"
    print(text)
    sys.exit(status)


if __name__ == "__main__":
    main()
