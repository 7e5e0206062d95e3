"""A pytest plugin: tests begin until a time, the rest is skipped and counted loudly."""

import os
import time

import pytest

UNTIL = float(os.environ.get("GANGLION_QUICK_UNTIL", "inf"))
"""Time of day, in seconds since 1970, after which no test begins."""
REASON = "out of time: `make test` runs it"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Skip a test that would begin too late."""
    if time.time() > UNTIL:
        pytest.skip(REASON)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests there was no time for."""
    skipped = terminalreporter.stats.get("skipped", [])
    late = sum(REASON in str(each.longrepr) for each in skipped)
    if late:
        terminalreporter.section(f"{late} tests did not run", yellow=True)
        terminalreporter.write_line(REASON)
