"""Writes the pages of docs, and the types of the portal, that are generated from the program.

python -m tools.reference            write them
python -m tools.reference --check    1 = one is out of date
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from tools.reference import api, errors, events, metrics, policy, roles, types, workload

FOLDER = Path(__file__).resolve().parents[2] / "docs"
PAGES: Mapping[str, Callable[[], str]] = {
    "reference/api.md": api.page,
    "reference/errors.md": errors.page,
    "reference/events.md": events.page,
    "reference/metrics.md": metrics.page,
    "reference/roles.md": roles.page,
    "reference/workload.md": workload.page,
    "policies/reference.md": policy.page,
    "../portal/src/api/schema.ts": types.source,
}


def main() -> int:
    """Write or check the pages."""
    pages = {FOLDER / name: make() for name, make in PAGES.items()}
    if "--check" not in sys.argv[1:]:
        for path, text in pages.items():
            path.write_text(text, "utf-8")
        return 0
    old = [p for p, text in pages.items() if not p.exists() or p.read_text("utf-8") != text]
    for path in old:
        print(f"{path.name} is out of date: run python -m tools.reference")
    return int(bool(old))


if __name__ == "__main__":
    sys.exit(main())
