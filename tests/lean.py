"""What a process of tests sends to the one that shows results: what that shows, no more.

pytest-xdist sends six messages for each test. Of one that passed, the result of its call is shown;
that it began, and that its fixtures did their work, is not.
"""

from typing import Any

import pytest

UNSHOWN = ("setup", "teardown")
"""Phases of a test that are shown where they did not pass."""


class Lean:
    """Leaves out messages of no effect.

    Args:
        interactor: what pytest-xdist sends by.
    """

    def __init__(self, interactor: Any) -> None:
        self._send = interactor.sendevent
        interactor.sendevent = self._sent
        self._without_effect = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_to_serializable(self, report: Any) -> dict[str, Any] | None:
        """Write nothing of what is not shown."""
        self._without_effect = report.passed and getattr(report, "when", "") in UNSHOWN
        return {} if self._without_effect else None

    def _sent(self, name: str, **values: Any) -> None:
        if name == "logstart" or (name == "testreport" and self._without_effect):
            return
        self._send(name, **values)


def send_less(config: pytest.Config) -> None:
    """Send less, where this process is one of several and no report wants all of it."""
    whole = config.getoption("durations") is not None or config.getoption("xmlpath", "")
    for plugin in config.pluginmanager.get_plugins():
        if hasattr(plugin, "sendevent") and not whole:
            config.pluginmanager.register(Lean(plugin))
