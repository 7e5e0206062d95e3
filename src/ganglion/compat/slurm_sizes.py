"""How big a Slurm job is: nodes, tasks, CPUs, memory and GPUs, which depend on each other."""

from collections.abc import Callable, Mapping
from typing import ClassVar, TypeVar

from msgspec import Struct, field

from ganglion.compat import slurm_values as values
from ganglion.compat.slurm_options import Option
from ganglion.model.errors import FieldError
from ganglion.specs.grammar import print_memory
from ganglion.specs.grammar.scalars import parse_whole
from ganglion.specs.wording import show

T = TypeVar("T")

MOST = 1_000_000
PER_NODE = frozenset({"gres", "gpus-per-node", "mem", "ntasks-per-gpu"})
MEMORY = frozenset({"mem-per-cpu", "mem-per-gpu"})
TASKS = frozenset({"cpus-per-task", "ntasks-per-node", "ntasks"})


class Sizes(Struct):
    """The result of the size options.

    Attributes:
        values: path in the workload file -> value.
        options: path -> the option that decided it.
        warnings: options that are not honoured, and why.
        problems: long option -> what is wrong with it: it makes no sense or does not divide.
    """

    values: dict[tuple[str, ...], object] = field(default_factory=dict)
    options: dict[tuple[str, ...], Option] = field(default_factory=dict)
    warnings: list[tuple[Option, str]] = field(default_factory=list)
    problems: dict[str, FieldError] = field(default_factory=dict)

    OPTIONS: ClassVar[frozenset[str]] = (
        PER_NODE | TASKS | {"nodes", "gpus", "gpus-per-task", "cpus-per-gpu"} | MEMORY
    )

    def put(self, option: Option, value: object, *path: str) -> None:
        """Set a value."""
        self.values[path], self.options[path] = value, option


def sizes(given: Mapping[str, Option], *, uses_srun: bool) -> Sizes:
    """Work out what one node needs and how many there are.

    Args:
        given: long option -> option.
        uses_srun: whether the script starts its tasks by srun.
    """
    return _Sizing(given, uses_srun).all()


class _Sizing:
    def __init__(self, given: Mapping[str, Option], uses_srun: bool) -> None:
        self.given, self.srun = given, uses_srun
        self.found = Sizes()

    def all(self) -> Sizes:
        low, high = self._nodes()
        tasks = self._tasks(high)
        gpus = self._gpus(high, tasks)
        tasks = self._number("ntasks-per-gpu", 0) * gpus or tasks
        if high > 1 or "nodes" in self.given:
            span = high if low == high else f"{low}..{high}"
            self.found.put(self._first("nodes", "ntasks"), span, "nodes")
        if self.srun and tasks > 1:
            option = self._first("ntasks-per-gpu", "ntasks-per-node", "ntasks")
            self.found.put(option, tasks, "procs_per_node")
        self._memory(gpus, self._cpus(gpus, tasks))
        self._warn_of_copies(high)
        return self.found

    def _nodes(self) -> tuple[int, int]:
        if "nodes" in self.given:
            return self._read("nodes", values.nodes, (1, 1))
        ntasks = self._number("ntasks", 1)
        if "ntasks-per-node" in self.given:
            count = -(-ntasks // self._number("ntasks-per-node", 1))
        else:
            # Without any size per node, tasks may lie anywhere: one small pod each.
            count = 1 if PER_NODE & self.given.keys() or not self.srun else ntasks
        return count, count

    def _tasks(self, nodes: int) -> int:
        ntasks = self._number("ntasks", nodes)
        if "ntasks-per-node" in self.given:
            return self._number("ntasks-per-node", 1)
        if ntasks % nodes and self.srun:
            per_node = -(-ntasks // nodes)
            advice = f"every node gets the same number of tasks, {per_node} each"
            self.found.warnings.append((self.given["ntasks"], advice))
        return -(-ntasks // nodes)

    def _gpus(self, nodes: int, tasks: int) -> int:
        for name in ("gpus-per-node", "gres", "gpus-per-task", "gpus"):
            if name in self.given:
                factor = tasks if name == "gpus-per-task" else 1
                return self._put_gpus(self.given[name], factor, nodes if name == "gpus" else 1)
        return 0

    def _put_gpus(self, option: Option, factor: int, nodes: int) -> int:
        asked = self._read(option.name, values.gpus, values.Gres(0))
        if asked.count % nodes:
            hint = f"ask for a multiple of {nodes}, or use --gpus-per-node"
            problem = f"{asked.count} GPUs do not divide by {nodes} nodes"
            self.found.problems[option.name] = FieldError(problem, hint=hint)
        for other in asked.others:
            self.found.warnings.append((option, f"only GPUs are known, not {show(other)}"))
        count = asked.count * factor // nodes
        if count:
            text = f"{asked.model}:{count}" if asked.model else count
            self.found.put(option, text, "resources", "gpus")
        return count

    def _cpus(self, gpus: int, tasks: int) -> int:
        if "cpus-per-gpu" in self.given:
            option, cpus = self.given["cpus-per-gpu"], self._number("cpus-per-gpu", 1) * gpus
        elif "cpus-per-task" in self.given or (TASKS & self.given.keys() and not gpus):
            option = self._first("cpus-per-task", "ntasks-per-node", "ntasks")
            cpus = self._number("cpus-per-task", 1) * tasks
        else:
            return 1
        if cpus:
            self.found.put(option, cpus, "resources", "cpus")
        return cpus

    def _memory(self, gpus: int, cpus: int) -> None:
        factors = {"mem": 1, "mem-per-gpu": gpus, "mem-per-cpu": cpus}
        for name in factors.keys() & self.given.keys():
            option = self.given[name]
            mib = self._read(name, values.memory, 0) * factors[name]
            if mib:
                self.found.put(option, print_memory(mib), "resources", "memory")
            else:
                advice = "ask for an amount; whole nodes come with --exclusive"
                self.found.warnings.append((option, advice))

    def _warn_of_copies(self, nodes: int) -> None:
        if nodes > 1 and not self.srun:
            advice = f"the script starts on each of the {nodes} nodes, not on the first alone"
            self.found.warnings.append((self._first("nodes", "ntasks"), advice))

    def _first(self, *names: str) -> Option:
        return next(self.given[name] for name in names if name in self.given)

    def _number(self, name: str, default: int) -> int:
        return self._read(name, lambda text: parse_whole(text, 1, MOST), default)

    def _read(self, name: str, parse: Callable[[str], T], default: T) -> T:
        if name not in self.given:
            return default
        try:
            return parse(self.given[name].value)
        except FieldError as error:
            self.found.problems[name] = error
            return default
