"""Which trials a sweep has: all combinations, some of them at random, or a list."""

from math import prod

from ganglion.lifecycle.sweeps.draw import drawn
from ganglion.model.workload import Workload


def trial_count(workload: Workload) -> int:
    """How many trials a sweep has; 0 = the workload describes none."""
    if workload.trials:
        return len(workload.trials)
    if not workload.params:
        return 0
    return workload.search.trials if workload.search else combinations(workload)


def combinations(workload: Workload) -> int:
    """How many combinations of its parameters there are."""
    return prod(len(values) for values in workload.params.values())


def trial(workload: Workload, index: int) -> dict[str, str]:
    """The parameters of one trial.

    Of all combinations the last parameter varies fastest; those that are searched come in the
    order in which they are drawn.

    Args:
        workload: the sweep.
        index: 0..trial_count-1.
    """
    if workload.trials:
        return dict(workload.trials[index])
    if workload.search:
        index = drawn(index, combinations(workload), workload.search.seed)
    found: dict[str, str] = {}
    for name, values in reversed(workload.params.items()):
        index, at = divmod(index, len(values))
        found[name] = values[at]
    return {name: found[name] for name in workload.params}
