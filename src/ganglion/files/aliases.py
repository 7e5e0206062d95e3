"""Other names for the keys of a workload file, as data.

A target may be dotted: `gpus: 8` at the top is `resources: {gpus: 8}`.
"""

ALIASES: dict[str, dict[str, str]] = {
    "": {
        "type": "kind",
        "job_name": "name",
        "command": "run",
        "commands": "run",
        "cmd": "run",
        "entrypoint": "run",
        "script": "run",
        "init": "setup",
        "working_dir": "workdir",
        "cwd": "workdir",
        "chdir": "workdir",
        "docker_image": "image",
        "container": "image",
        "container_image": "image",
        "envs": "env",
        "environment": "env",
        "num_nodes": "nodes",
        "nnodes": "nodes",
        "tasks": "procs_per_node",
        "procs": "procs_per_node",
        "tasks_per_node": "procs_per_node",
        "ntasks_per_node": "procs_per_node",
        "nproc_per_node": "procs_per_node",
        "gpus": "resources.gpus",
        "gpu": "resources.gpus",
        "accelerators": "resources.gpus",
        "accelerator": "resources.gpus",
        "cpus": "resources.cpus",
        "cpu": "resources.cpus",
        "memory": "resources.memory",
        "mem": "resources.memory",
        "shm_size": "resources.shm_size",
        "slices": "groups",
        "time": "time_limit",
        "timeout": "time_limit",
        "walltime": "time_limit",
        "max_duration": "time_limit",
        "max_run_duration": "time_limit",
        "retries": "retry",
        "priority_class": "priority",
        "node_selector": "constraints.labels",
        "residency": "constraints.residency",
        "isolation": "constraints.isolation",
        "depends_on": "after",
        "dependencies": "after",
        "needs": "after",
        "held": "hold",
        "suspend": "hold",
        "ports": "port",
        "array": "params",
        "matrix": "params",
        "parallelism": "parallel",
        "max_parallel": "parallel",
        "concurrency": "parallel",
        "inactivity_duration": "idle_timeout",
        "tags": "labels",
    },
    "resources": {
        "gpu": "gpus",
        "accelerators": "gpus",
        "accelerator": "gpus",
        "nvidia.com/gpu": "gpus",
        "cpu": "cpus",
        "mem": "memory",
        "ram": "memory",
        "shm": "shm_size",
    },
    "pod_sets": {
        "count": "nodes",
        "num_nodes": "nodes",
        "replicas": "nodes",
        "tasks": "procs_per_node",
        "procs": "procs_per_node",
        "tasks_per_node": "procs_per_node",
        "gpus": "resources.gpus",
        "gpu": "resources.gpus",
        "accelerators": "resources.gpus",
        "cpus": "resources.cpus",
        "cpu": "resources.cpus",
        "memory": "resources.memory",
        "mem": "resources.memory",
        "shm_size": "resources.shm_size",
        "slices": "groups",
    },
    "groups": {"count": "size", "level": "required", "require": "required", "prefer": "preferred"},
    "checkpoint": {"every": "interval", "grace_period": "grace", "dir": "path"},
    "retry": {
        "max": "limit",
        "attempts": "limit",
        "max_retries": "limit",
        "on_events": "on",
        "delay": "backoff",
    },
    "constraints": {"node_selector": "labels", "regions": "residency", "exclude": "avoid"},
}
"""Scope -> other name -> canonical key."""

CHILDREN: dict[str, dict[str, str]] = {
    "": {
        name: name
        for name in ("resources", "pod_sets", "groups", "checkpoint", "retry", "constraints")
    },
    "pod_sets": {"resources": "resources", "groups": "groups"},
}
"""Scope -> key -> scope of what lies below it."""

LISTS = ("pod_sets", "groups")
SHORTHANDS = {"retry": "limit", "checkpoint": "interval"}
"""Scopes that may be one scalar, and the key that it stands for."""
