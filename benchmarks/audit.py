"""Look for known vulnerabilities of the pinned packages with pip-audit, whose database is online (`make audit`).

Exit code 0 without any, 1 with some, and 3 with one sentence if nothing could be checked: the database is unreachable.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOT_CHECKED = 3


def main() -> None:
    """Run pip-audit; a package that it could not look up counts as not checked, which pip-audit itself passes over."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(ROOT / "constraints.txt"), "--no-deps"]
    command += ["--disable-pip", "--progress-spinner", "off", "--timeout", "15", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        reason = (done.stderr.strip() or "no answer").splitlines()[-1]
        print(f"audit: pip-audit failed, so nothing was checked ({reason})", file=sys.stderr)
        sys.exit(NOT_CHECKED)
    for package in packages:
        for found in package.get("vulns", []):
            print(f"{package['name']} {package['version']}: {found['id']}, mended in {found['fix_versions']}")
    skipped = [package["name"] for package in packages if "skip_reason" in package]
    if skipped:
        print(
            f"audit: {len(skipped)} of {len(packages)} packages were not checked, because the database of "
            "vulnerabilities cannot be reached or does not know them",
            file=sys.stderr,
        )
    sys.exit(1 if any(package.get("vulns") for package in packages) else NOT_CHECKED if skipped else 0)


if __name__ == "__main__":
    main()
