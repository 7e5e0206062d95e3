"""What the environment of ranks has in common in every world where processes run."""

SLURM_SWITCH = "GANGLION_SLURM_ENV"
"""Variable that has a rank find Slurm's variables where it is `1`."""

BIND_SWITCH = "GANGLION_GPU_BIND"
"""Variable that has every rank see all GPUs of its pod where it is `pod`."""


def split(devices: tuple[int, ...], procs: int, local_rank: int) -> tuple[int, ...]:
    """One process's part of its pod's devices.

    Parts are consecutive and differ by at most one device; processes that outnumber the
    devices share them evenly.
    """
    if devices and len(devices) < procs:
        return (devices[local_rank * len(devices) // procs],)
    first, last = (len(devices) * part // procs for part in (local_rank, local_rank + 1))
    return devices[first:last]
