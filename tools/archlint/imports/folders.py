"""The folders of the large packages, and which of its own each of them may import."""

FOLDERS: dict[str, dict[str, str]] = {
    "engine": {
        "plugins": "",
        "topology": "plugins",
        "placement": "plugins topology",
        "gangs": "plugins topology",
        "runtimes": "gangs",
        "timesharing": "plugins topology gangs",
        "queues": "plugins topology gangs",
        "store": "plugins topology gangs runtimes timesharing queues",
        "timeline": "topology placement gangs runtimes store",
        "forecast": "placement gangs runtimes queues store timeline",
        "state": ("plugins topology gangs runtimes timesharing queues store timeline forecast"),
        "search": "plugins topology placement gangs queues state",
        "preemption_rules": "gangs timesharing queues store state search",
        "preemption": (
            "topology placement gangs queues store timeline state search preemption_rules"
        ),
        "decisions": "placement gangs store timeline state preemption",
        "kueue": "topology placement gangs queues store state search preemption decisions",
        "ordering": "gangs queues store state search preemption_rules preemption kueue",
        "upkeep": (
            "topology placement gangs store timeline state search preemption_rules "
            "preemption decisions kueue ordering"
        ),
        "cycle": "gangs store state search decisions kueue ordering upkeep",
        "explain": (
            "topology placement gangs runtimes queues store timeline forecast state preemption "
            "ordering cycle"
        ),
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
        "money": "scalars",
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
        "desired": "wording grammar reading policy",
    },
    "router": {
        "balancing": "",
        "decisions": "",
        "port": "",
        "record": "",
        "launch": "port record",
        "metrics": "balancing",
        "link": "balancing decisions record launch",
        "proxy": "balancing decisions metrics",
        "control": "balancing decisions metrics proxy",
        "process": "balancing decisions port record proxy control",
        "__main__": "link process",
    },
    "lifecycle": {
        "failures": "",
        "losses": "",
        "metrics": "",
        "past": "",
        "power": "",
        "reports": "",
        "resuming": "",
        "schedules": "",
        "services": "",
        "status": "",
        "sweeps": "",
        "waiting": "",
        "workspaces": "",
        "autoscaling": "schedules",
        "cluster_gangs": "past waiting",
        "clusters": "cluster_gangs past waiting",
        "expand": "sweeps",
        "standby": "services",
    },
    "worlds.simulated": {
        "heap": "",
        "job": "",
        "units": "",
        "work": "",
        "attempt": "job work",
        "budgets": "",
        "readers": "job",
        "watcher": "job",
        "faults": "heap units watcher",
        "metrics": "job watcher",
        "running": "heap job attempt watcher faults",
        "scenario": "job attempt faults",
        "setup": "job units attempt readers faults scenario",
        "world": "heap job attempt watcher faults running scenario",
        "run": "budgets metrics scenario world",
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
        "workload_discovery": ("names types instance requests markers workload_kinds pod_groups"),
        "gpu_discovery": "types gpu_resources requests",
        "node_discovery": "names types gpu_discovery",
        "cluster_view": (
            "names types gpu_resources selectors instance write_rules requests feasibility "
            "pod_index workload_kinds workload_discovery gpu_discovery node_discovery"
        ),
        "controller_state": "names types write_rules workload_discovery cluster_view",
        "config": "types selectors node_discovery cluster_view",
        "reporting": "names types instance write_rules http writes cluster_view config",
        "reasons": (
            "names types write_rules workload_kinds pod_groups workload_discovery cluster_view "
            "controller_state"
        ),
        "watches": "names types http workload_kinds cluster_view",
        "pod_rules": "types feasibility pod_index",
        "feasibility_plugin": (
            "types gpu_resources write_rules requests feasibility pod_index "
            "workload_discovery cluster_view controller_state pod_rules"
        ),
        "order_writer": "types instance write_rules http writes cluster_view reporting",
        "connection": "types instance sign_in http cluster_view reporting watches order_writer",
        "attempts": (
            "names types write_rules feasibility workload_kinds workload_discovery cluster_view "
            "controller_state reasons feasibility_plugin"
        ),
        "controller": (
            "types workload_kinds workload_discovery cluster_view controller_state reasons "
            "feasibility_plugin attempts"
        ),
        "rehearsal": (
            "types markers workload_kinds workload_discovery cluster_view controller_state "
            "feasibility_plugin attempts controller"
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
    "cli": {
        "output": "",
        "registry": "",
        "verbose": "",
        "cluster": "output",
        "errors": "output",
        "lazy": "registry verbose",
        "options": "output",
        "connection": "cluster",
        "main": "verbose errors lazy",
        "plugins": "output options",
        "schema": "output options",
        "completion": "options main",
        "filters": "connection",
        "access": "output options connection",
        "fleet": "output options connection",
        "logs": "output options connection",
        "pods": "output errors options connection logs",
        "queues": "output options connection filters whatif",
        "money": "output options connection",
        "workloads": "output options connection filters fleet",
        "server": "output options connection workloads access",
        "submission": "output cluster errors options connection logs pods workloads",
        "simulation": "output options submission",
        "whatif": "output options connection submission simulation",
        "agents": "output options connection access queues money workloads submission whatif",
    },
    "server": {
        "state": "",
        "rest": "",
        "telemetry": "",
        "signals": "state",
        "commands": "state",
        "views": "state rest commands delivered",
        "controllers": "state signals commands",
        "models": "state controllers",
        "recovery": "state controllers",
        "delivered": "state",
        "loop": "state rest telemetry views controllers recovery delivered",
        "whatif": "state views recovery",
        "accounts": "rest",
        "access": "state rest commands loop accounts",
        "portal": "rest",
        "notify": "state",
        "login": "rest commands loop access portal",
        "requests": (
            "state rest telemetry models signals delivered loop accounts access whatif portal "
            "notify"
        ),
        "routes": "state rest access commands views delivered models requests whatif",
        "audit": "",
        "direct": "rest requests routes",
        "app": (
            "rest commands accounts access login portal telemetry views requests routes direct "
            "notify delivered"
        ),
        "parts": (
            "state rest telemetry signals commands controllers models recovery loop accounts notify"
        ),
        "main": (
            "state rest telemetry models signals commands controllers recovery loop access "
            "accounts login portal requests notify audit app parts whatif"
        ),
        "cluster": "state rest telemetry signals views access",
        "__main__": "rest main",
    },
}
"""Package -> its folders and single modules, the lowest first -> those that each may import."""
