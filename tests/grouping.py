"""Which tests one process runs in a row: those of a module, of modules with the same `xdist_group`.

What the fixtures of a module start is started once so, and the process that distributes the tests
sends some hundred lists instead of ten thousand names.
"""

import re
from collections.abc import Iterable
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


WAITING = "tests/worlds/"
"""Folder whose tests wait for most of their time, for API servers and for processes of jobs."""


def order(scopes: Iterable[str]) -> list[str]:
    """In which order modules and groups of modules are distributed.

    Groups are the first: they take longest. Modules that wait come between the others, which use
    the machine meanwhile: one after the other they would leave it idle. They end when a quarter
    of the others is left, so that no long one is the last.

    Args:
        scopes: modules in the order of their folders, and groups.
    """
    places = dict.fromkeys(scopes, 0)
    modules = [each for each in places if each.endswith(".py")]
    waiting = [each for each in modules if each.startswith(WAITING)]
    others = [each for each in modules if not each.startswith(WAITING)]
    for number, module in enumerate(waiting):
        places[module] = number * 3 * len(others)
    for number, module in enumerate(others):
        places[module] = number * 4 * len(waiting)
    return sorted(places, key=lambda each: (each.endswith(".py"), places[each]))


class ByModule(LoadGroupScheduling):
    """Modules go to processes one by one, groups of modules at once, in an order of ours.

    By the number of their tests, as xdist sorts them, the demo would be among the last.
    """

    def __init__(self, config: pytest.Config, log: Any = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False
        self._sorted = False

    def _assign_work_unit(self, node: Any) -> None:
        if not self._sorted:
            for scope in order(self.workqueue):
                self.workqueue.move_to_end(scope)
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
