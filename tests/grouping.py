"""Which tests one process runs in a row: those of a module, of modules with the same `xdist_group`.

What the fixtures of a module start is started once so, and the process that distributes the tests
sends some hundred lists instead of ten thousand names.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
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
    """Modules go to processes one by one, groups of modules at once and first: they take longest.

    By the number of their tests, as xdist sorts them, the demo would be among the last.
    """

    def __init__(self, config: pytest.Config, log: Any = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False
        self._sorted = False

    def _assign_work_unit(self, node: Any) -> None:
        if not self._sorted:
            for scope in [each for each in reversed(self.workqueue) if not each.endswith(".py")]:
                self.workqueue.move_to_end(scope, last=False)
            self._sorted = True
        super()._assign_work_unit(node)

    def _split_scope(self, nodeid: str) -> str:
        module = nodeid.partition("::")[0]
        return group_of(module) or module

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Forget a unit whose tests have all run: xdist counts all that it remembers each time."""
        super().mark_test_complete(node, item_index, duration)
        scope = self._split_scope(self.registered_collections[node][item_index])
        if all(self.assigned_work[node][scope].values()):
            del self.assigned_work[node][scope]
