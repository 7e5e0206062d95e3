"""Runs scenarios and sums up their results."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ganglion.model.errors import GanglionError, NotFound
from ganglion.scenarios.model import Result, Scenario
from ganglion.specs.policy.policy import PolicyFile
from ganglion.specs.wording import meant

Progress = Callable[[int, int, str], None]
"""Called with scenarios done, scenarios in all, and the id of the next one."""


def run_all(
    scenarios: Sequence[Scenario],
    policy: PolicyFile,
    deviations: Mapping[str, str] = {},
    progress: Progress | None = None,
) -> list[Result]:
    """Run scenarios one by one.

    Args:
        scenarios: what to run.
        policy: to decide by.
        deviations: why an outcome differs on purpose, by id.
        progress: called before each of them.
    """
    results = []
    for number, scenario in enumerate(scenarios):
        if progress:
            progress(number, len(scenarios), scenario.id)
        results.append(_noted(_run(scenario, policy), deviations))
    return results


def _run(scenario: Scenario, policy: PolicyFile) -> Result:
    """A mistake in one scenario fails that one; the others are run."""
    try:
        return scenario.form.run(scenario, policy)
    except GanglionError as error:
        hint = f"; {error.hint}" if error.hint else ""
        return Result(scenario.id, scenario.tier, False, f"{error.message}{hint}")


def chosen(scenarios: Sequence[Scenario], only: Collection[str]) -> list[Scenario]:
    """The scenarios of these ids, all without any. Raises NotFound for an unknown id."""
    known = {scenario.id for scenario in scenarios}
    for name in only:
        if name not in known:
            raise NotFound(f"there is no scenario {name} in the file", meant(name, known))
    return [each for each in scenarios if not only or each.id in only]


def failed(results: Iterable[Result]) -> bool:
    """Whether any outcome is neither expected nor a listed deviation."""
    return any(each.verdict == "fail" for each in results)


def report(results: Sequence[Result]) -> dict[str, Any]:
    """Results and counts as plain data, for JSON."""
    return {
        "scenarios": [
            {
                "id": each.id,
                "tier": each.tier,
                "pass": each.passed,
                "difference": each.difference,
                "deviation": each.deviation,
                **({"figures": each.figures} if each.figures else {}),
            }
            for each in results
        ],
        "tiers": counts(results),
        "figures": sums(results),
    }


def counts(results: Iterable[Result]) -> dict[str, dict[str, int]]:
    """Passes, deviations and failures by tier, in the order of first appearance."""
    tiers: dict[str, dict[str, int]] = {}
    for each in results:
        tier = tiers.setdefault(each.tier, {"pass": 0, "deviation": 0, "fail": 0})
        tier[each.verdict] += 1
    return tiers


def sums(results: Iterable[Result]) -> dict[str, int]:
    """Sums of the figures of all results, by name."""
    total: dict[str, int] = {}
    for each in results:
        for name, value in each.figures.items():
            total[name] = total.get(name, 0) + value
    return total


def _noted(result: Result, deviations: Mapping[str, str]) -> Result:
    if result.passed or result.id not in deviations:
        return result
    return replace(result, deviation=deviations[result.id])
