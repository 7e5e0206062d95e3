"""The small grammars of values: GPUs, quantities, durations, ranges, names and levels.

Every `parse_x` takes what YAML or JSON yields, or a command-line text, and raises `FieldError`
without file and line; every `print_x` prints the canonical form, which parses back to the same.
"""

from ganglion.specs.grammar.gpus import parse_gpus, print_gpus
from ganglion.specs.grammar.names import parse_name, slug
from ganglion.specs.grammar.places import parse_level, parse_placement, print_placement
from ganglion.specs.grammar.quantities import (
    parse_cpus,
    parse_memory,
    print_cpus,
    print_memory,
)
from ganglion.specs.grammar.ranges import CountRange, parse_span, parse_values, print_span
from ganglion.specs.grammar.times.durations import parse_duration, parse_slurm_time, print_duration

__all__ = [
    "CountRange",
    "parse_cpus",
    "parse_duration",
    "parse_gpus",
    "parse_level",
    "parse_memory",
    "parse_name",
    "parse_placement",
    "parse_slurm_time",
    "parse_span",
    "parse_values",
    "print_cpus",
    "print_duration",
    "print_gpus",
    "print_memory",
    "print_placement",
    "print_span",
    "slug",
]
