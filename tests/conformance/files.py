"""Scenario files of these tests, and the published ones where there are any."""

import os
from pathlib import Path

from conformance.formats import FORMATS
from ganglion.scenarios.model import Result
from ganglion.scenarios.runner import run_all
from ganglion.scenarios.source import load_scenarios
from ganglion.specs.policy.policy import resolve_policy

DATA = Path(__file__).parent / "data"
SHARED = Path(
    os.environ.get("GANGLION_SCENARIOS", Path(__file__).parents[2].parent / "shared/scenarios")
)


def results(file: Path, policy: str) -> list[Result]:
    """The result of every scenario of a file under a preset."""
    return run_all(load_scenarios(file, FORMATS), resolve_policy(policy))


def differences(file: Path, policy: str) -> dict[str, str]:
    """Id -> what is different, of those that do not pass."""
    return {each.id: each.difference for each in results(file, policy) if not each.passed}
