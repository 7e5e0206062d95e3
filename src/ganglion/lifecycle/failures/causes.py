"""Causes of ends that `GangEnded.cause` names; standard library only, as supervisors need them."""

OOM, GPU, CRASH_LOOP = "oom", "gpu", "crash_loop"
NODE = "node"
"""The machine could not start it: no disk, no memory, no processes, an I/O error."""
SUPERVISOR = "supervisor"
"""Its supervisor was killed from outside."""
CAUSES = frozenset((NODE, GPU, OOM, CRASH_LOOP, SUPERVISOR))
"""Every cause that an end may name."""
