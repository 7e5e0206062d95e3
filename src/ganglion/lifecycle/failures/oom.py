"""Whether a program ended because memory ran out; standard library only.

An exit code of 137 says that some process sent SIGKILL. Where it was not us, the kernel's own count
of processes killed for want of memory shows whether it was the kernel.
"""

KILLED = 137
"""Exit code of what SIGKILL ended: 128 + 9."""

HOST, GPU = "host", "gpu"

_GPU_WORDS = (
    "cuda out of memory",
    "outofmemoryerror: cuda",
    "cuda_error_out_of_memory",
    "cudaerrormemoryallocation",
    "hip out of memory",
    "resource_exhausted: out of memory",
)
_HOST_WORDS = ("memoryerror", "std::bad_alloc", "cannot allocate memory")


def ran_out(code: int | None, last_line: str, kills: int = 0) -> str:
    """Of which memory too little was there: `host`, `gpu`, or empty where nothing says so.

    Args:
        code: exit code of the rank that failed first, 128 + N for a signal N that was not ours.
        last_line: the last that it wrote.
        kills: how many the kernel has killed for want of memory while the rank ran, in its
            control group or on the machine.
    """
    said = last_line.lower()
    if any(word in said for word in _GPU_WORDS):
        return GPU
    if code == KILLED and kills > 0:
        return HOST
    return HOST if any(word in said for word in _HOST_WORDS) else ""


def sentence(memory: str) -> str:
    """The message for people; empty where `ran_out` found nothing."""
    return {
        HOST: "out of memory: the kernel or the program gave up as the node's memory ran out",
        GPU: "out of memory: the memory of a GPU did not suffice",
    }.get(memory, "")
