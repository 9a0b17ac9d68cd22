"""Look for known vulnerabilities of the pinned packages with pip-audit, whose database is online (`make audit`).

Exit code 0 without any, 1 with some, and 3 with one sentence if nothing could be checked: the database is unreachable.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
UNREACHABLE = ("ConnectionError", "ServiceError", "Max retries", "HTTPError", "Temporary failure", "timed out")
NOT_CHECKED = 3


def main() -> None:
    """Run pip-audit and say clearly if it could not look anything up."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(ROOT / "constraints.txt"), "--no-deps"]
    command += ["--disable-pip", "--progress-spinner", "off", "--timeout", "15"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and "No module named" in done.stderr:
        print("audit: pip-audit is not installed (make audit installs it); nothing was checked", file=sys.stderr)
        sys.exit(NOT_CHECKED)
    if done.returncode and any(sign in done.stderr for sign in UNREACHABLE):
        print("audit: the database of vulnerabilities cannot be reached, so nothing was checked", file=sys.stderr)
        sys.exit(NOT_CHECKED)
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
