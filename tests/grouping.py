"""Which tests one process runs in a row: those of modules with the same `xdist_group`."""

import re
from functools import cache
from pathlib import Path

from xdist.scheduler import LoadGroupScheduling

ROOT = Path(__file__).parents[1]
GROUP = re.compile(r'^pytestmark = pytest\.mark\.xdist_group\("([^"]+)"\)', re.MULTILINE)


@cache
def group_of(module: str) -> str:
    """Group that a module of tests names for all of its tests; empty = none.

    Args:
        module: its path from the root of the checkout.
    """
    found = GROUP.search((ROOT / module).read_text("utf-8"))
    return found[1] if found else ""


class ByModule(LoadGroupScheduling):
    """Tests go to processes one by one, but for those of a group."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid.partition("::")[0]) or nodeid
