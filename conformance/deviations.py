"""Deviations: scenarios whose expected outcome we change on purpose, each with the reason.

They stand in a table of `docs/policies/deviations.md`; its first three columns are the id of
the scenario, what we do, and why that is better.
"""

from pathlib import Path

from ganglion.model.errors import EnvironmentFault

PAGE = Path(__file__).resolve().parents[1] / "docs" / "policies" / "deviations.md"


def load_deviations(page: Path = PAGE) -> dict[str, str]:
    """What we do instead and why, by id of the scenario. Raises EnvironmentFault."""
    try:
        text = page.read_text("utf-8")
    except OSError as error:
        raise EnvironmentFault(f"cannot read {page}: {error.strerror}") from error
    rows = (line.strip().strip("|").split("|") for line in text.splitlines() if "|" in line)
    cells = ([cell.strip() for cell in row] for row in rows)
    return {
        row[0].strip("`"): f"{row[1]}: {row[2]}"
        for row in cells
        if len(row) >= 3 and row[0].startswith("`")
    }
