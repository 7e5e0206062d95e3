"""The folders of the large packages, and which of its own each of them may import."""

FOLDERS: dict[str, dict[str, str]] = {
    "engine": {
        "plugins": "",
        "topology": "plugins",
        "placement": "plugins topology",
        "gangs": "plugins topology",
        "runtimes": "gangs",
        "timesharing": "gangs",
        "queues": "topology gangs",
        "store": "plugins topology gangs timesharing queues",
        "timeline": "topology placement gangs runtimes store",
        "forecast": "placement gangs runtimes queues store timeline",
        "state": "plugins topology gangs runtimes timesharing queues store timeline forecast",
        "search": "plugins topology placement gangs queues state",
        "preemption_rules": "gangs timesharing queues store state search",
        "preemption": (
            "topology placement gangs queues store timeline state search preemption_rules"
        ),
        "decisions": "gangs store timeline state preemption",
        "kueue": "topology placement gangs queues store state search preemption decisions",
        "ordering": "gangs queues store state search preemption_rules preemption kueue",
        "upkeep": (
            "topology placement gangs store timeline state search preemption_rules "
            "preemption decisions kueue ordering"
        ),
        "cycle": "gangs store state search decisions kueue ordering upkeep",
        "explain": "topology placement gangs runtimes store timeline forecast state ordering cycle",
    },
    "specs.grammar": {
        "scalars": "",
        "names": "scalars",
        "places": "scalars",
        "quantities": "scalars",
        "ranges": "scalars",
        "shares": "scalars",
        "times": "scalars",
        "gpus": "scalars quantities",
        "lists": "scalars names ranges",
        "amounts": "scalars quantities lists",
        "words": "scalars names lists",
        "rules": "scalars names times lists amounts words",
    },
    "specs": {
        "wording": "",
        "grammar": "wording",
        "reading": "wording grammar",
        "policy": "wording grammar reading",
        "workload": "wording grammar reading policy",
        "cluster": "wording grammar reading policy",
    },
    "router": {
        "balancing": "",
        "record": "",
        "launch": "record",
        "metrics": "balancing",
        "link": "balancing record launch",
        "proxy": "balancing metrics",
        "control": "balancing metrics proxy",
        "process": "balancing record proxy control",
        "__main__": "link process",
    },
    "lifecycle": {
        "failures": "",
        "losses": "",
        "metrics": "",
        "power": "",
        "reports": "",
        "reserved": "",
        "resuming": "",
        "schedules": "",
        "services": "",
        "status": "",
        "sweeps": "",
        "workspaces": "",
        "autoscaling": "schedules",
        "expand": "sweeps",
    },
    "worlds.simulated": {
        "heap": "",
        "job": "",
        "units": "",
        "work": "",
        "attempt": "job work",
        "readers": "job",
        "watcher": "job",
        "faults": "heap units watcher",
        "metrics": "job watcher",
        "running": "heap job attempt watcher faults",
        "scenario": "job attempt faults",
        "setup": "job units attempt readers faults scenario",
        "world": "heap job attempt watcher faults running",
        "run": "metrics scenario world",
        "report": "attempt faults metrics run",
    },
    "worlds.local": {
        "machine": "",
        "run_files": "machine",
        "ranks": "run_files",
        "supervision": "machine run_files",
        "executing": "supervision",
        "holding": "supervision",
        "supervisor": "machine run_files supervision",
        "workspaces": "machine run_files ranks",
        "attempts": "machine run_files ranks supervision workspaces",
        "world": "machine run_files ranks workspaces attempts",
    },
    "worlds.kubernetes": {
        "names": "",
        "types": "names",
        "gpu_resources": "",
        "selectors": "types",
        "instance": "names types selectors",
        "write_rules": "names types selectors instance",
        "requests": "types gpu_resources",
        "feasibility": "names types gpu_resources selectors requests",
        "sign_in": "",
        "http": "types sign_in",
        "pod_index": "types gpu_resources feasibility",
        "markers": "names",
        "workload_kinds": "names types markers",
        "writes": "names types instance write_rules feasibility http",
        "pod_groups": "names types requests markers workload_kinds",
        "workload_discovery": "names types instance markers workload_kinds pod_groups",
        "gpu_discovery": "types gpu_resources requests",
        "node_discovery": "names types gpu_discovery",
        "cluster_view": (
            "names types gpu_resources selectors instance write_rules requests feasibility "
            "pod_index workload_kinds workload_discovery gpu_discovery node_discovery"
        ),
        "config": "types selectors node_discovery cluster_view",
        "reporting": "names types instance write_rules http writes config",
        "reasons": (
            "names types write_rules workload_kinds pod_groups workload_discovery cluster_view"
        ),
        "watches": "names types http workload_kinds cluster_view",
        "pod_rules": "types feasibility pod_index",
        "feasibility_plugin": (
            "types gpu_resources write_rules requests feasibility pod_index "
            "workload_discovery cluster_view pod_rules"
        ),
        "order_writer": "types instance write_rules http writes cluster_view reporting",
        "connection": "types instance sign_in http cluster_view reporting watches order_writer",
        "attempts": (
            "names types feasibility workload_kinds workload_discovery cluster_view reasons "
            "feasibility_plugin"
        ),
        "controller": (
            "types workload_kinds workload_discovery cluster_view reasons feasibility_plugin "
            "attempts"
        ),
        "queue_config": "types instance cluster_view config reporting controller",
        "submit": "names types http",
        "scheduler": (
            "sign_in http cluster_view config reporting connection controller queue_config"
        ),
        "leader_election": "types sign_in http",
    },
    "worlds.kubernetes.submit": {
        "manifests": "",
        "objects": "",
        "places": "manifests",
        "creating": "manifests places",
        "finding": "manifests objects places",
        "sleeping": "manifests objects places finding",
        "trouble": "finding",
    },
    "server": {
        "state": "",
        "rest": "",
        "telemetry": "",
        "signals": "state",
        "commands": "state",
        "views": "state rest commands",
        "controllers": "state signals commands",
        "recovery": "state controllers",
        "loop": "state rest telemetry views controllers recovery",
        "requests": "state rest telemetry signals loop",
        "routes": "state rest commands views requests",
        "notify": "",
        "direct": "rest requests routes",
        "app": "rest telemetry views requests routes direct",
        "main": (
            "state rest telemetry signals commands controllers recovery loop requests notify app"
        ),
        "cluster": "state rest telemetry signals views",
        "__main__": "rest main",
    },
}
"""Package -> its folders and single modules, the lowest first -> those that each may import."""
