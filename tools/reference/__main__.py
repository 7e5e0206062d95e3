"""Writes the generated pages of docs/reference/.

python -m tools.reference            write them
python -m tools.reference --check    1 = one is out of date
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from tools.reference import api, errors, events, metrics

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference"
PAGES: Mapping[str, Callable[[], str]] = {
    "api.md": api.page,
    "errors.md": errors.page,
    "events.md": events.page,
    "metrics.md": metrics.page,
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
