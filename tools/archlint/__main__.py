"""Check the whole checkout; exit 1 when a rule is broken."""

import sys

from tools.archlint.decisions.order import set_order
from tools.archlint.decisions.prose import prose_decides
from tools.archlint.decisions.purity import floats, hidden_state, impure_imports, impure_names
from tools.archlint.files.classes import named_twice
from tools.archlint.files.layout import crowded, crowded_beside, fragments
from tools.archlint.files.shape import too_long, undocumented, unexplained
from tools.archlint.imports.bare import imports_packages_without_site
from tools.archlint.imports.direction import circles, many_rooms, wrong_folder, wrong_way
from tools.archlint.machine.asking import asks_past_the_seam
from tools.archlint.machine.seams import around_the_seams, idle
from tools.archlint.source import Finding, sources
from tools.archlint.texts.words import banned_words, plain_beside, plain_pages, plain_words, tracked

RULES = (
    impure_imports,
    impure_names,
    hidden_state,
    set_order,
    floats,
    wrong_way,
    wrong_folder,
    many_rooms,
    circles,
    asks_past_the_seam,
    around_the_seams,
    idle,
    prose_decides,
    imports_packages_without_site,
    named_twice,
    crowded,
    fragments,
    too_long,
    undocumented,
    unexplained,
    plain_words,
)


def findings() -> list[Finding]:
    """Return every breach in the checkout."""
    files, texts = sources(), tracked()
    found = [found for rule in RULES for found in rule(files)]
    beside = (banned_words, plain_pages, plain_beside, crowded_beside)
    return [*found, *(each for rule in beside for each in rule(texts))]


def main() -> int:
    """Print every breach; return how the program exits."""
    found = findings()
    for each in found:
        print(each, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
