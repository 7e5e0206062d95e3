"""Every command by name: its module, what it is for, in which section it is listed.

This table is all that `ganglion --help` reads; a command's module is imported only when
that command runs, so that help and completion start fast.
"""

from typing import NamedTuple


class CommandEntry(NamedTuple):
    """One command.

    Attributes:
        target: `module:attribute` of its click command.
        help: one line, equal to the first line of the command's own help.
        section: heading it is listed under; empty = not listed.
    """

    target: str
    help: str
    section: str


START = "Start and stop"
WORK = "Run work"
LOOK = "See what happens"
CHANGE = "Change what runs"
CLUSTER = "The cluster"
TRY = "Try"
TOOLS = "Tools"

SECTIONS = (START, WORK, LOOK, CHANGE, CLUSTER, TRY, TOOLS)

COMMANDS: dict[str, CommandEntry] = {
    "up": CommandEntry("ganglion.cli.server.up:up", "Start the server on this machine.", START),
    "down": CommandEntry("ganglion.cli.server.down:down", "Stop the server.", START),
    "helper": CommandEntry(
        "ganglion.cli.server.helper:helper",
        "Start programs as the users who submitted them (root).",
        START,
    ),
    "scheduler": CommandEntry(
        "ganglion.cli.server.scheduler:scheduler",
        "Schedule the GPU pods of Kubernetes clusters.",
        START,
    ),
    "server": CommandEntry(
        "ganglion.cli.server.scheduler:server",
        "Keep history and audit of clusters whose schedulers deliver to it.",
        START,
    ),
    "login": CommandEntry(
        "ganglion.cli.access.login:login",
        "Sign in to a server with a code that you confirm in a browser.",
        START,
    ),
    "logout": CommandEntry(
        "ganglion.cli.access.login:logout",
        "Revoke the token of a login at its server, and forget it.",
        START,
    ),
    "demo": CommandEntry(
        "ganglion.cli.simulation.demo:demo", "Watch three teams share a pretend cluster.", START
    ),
    "run": CommandEntry(
        "ganglion.cli.submission.run:run", "Run a command as a job and follow it.", WORK
    ),
    "submit": CommandEntry(
        "ganglion.cli.submission.submit:submit", "Submit workload files or #SBATCH scripts.", WORK
    ),
    "mcp": CommandEntry(
        "ganglion.cli.agents.mcp:mcp",
        "Let an agent look, ask and submit by the Model Context Protocol.",
        WORK,
    ),
    "secret": CommandEntry(
        "ganglion.cli.submission.secret:secret", "Keep secrets for workloads by name.", WORK
    ),
    "ps": CommandEntry("ganglion.cli.workloads.ps:ps", "List your workloads.", LOOK),
    "queue": CommandEntry(
        "ganglion.cli.queues.queue:queue", "Show everything that waits, in order.", LOOK
    ),
    "schedules": CommandEntry(
        "ganglion.cli.workloads.schedules:schedules",
        "List workloads that are submitted on a schedule.",
        LOOK,
    ),
    "why": CommandEntry(
        "ganglion.cli.workloads.why:why", "Say why a workload waits and what would help.", LOOK
    ),
    "logs": CommandEntry("ganglion.cli.logs.logs:logs", "Print the logs of a workload.", LOOK),
    "describe": CommandEntry(
        "ganglion.cli.workloads.describe:describe", "Describe a workload or a node in full.", LOOK
    ),
    "top": CommandEntry(
        "ganglion.cli.pods.top:top", "Show what jobs, users and GPUs use now.", LOOK
    ),
    "get": CommandEntry("ganglion.cli.workloads.get:get", "Print a workload as data.", LOOK),
    "exec": CommandEntry(
        "ganglion.cli.pods.execute:exec_command", "Run a command in a running pod.", WORK
    ),
    "attach": CommandEntry(
        "ganglion.cli.pods.execute:attach", "Attach to the terminal of a running job.", WORK
    ),
    "cp": CommandEntry(
        "ganglion.cli.pods.cp:cp", "Copy files and folders to and from a running pod.", WORK
    ),
    "port-forward": CommandEntry(
        "ganglion.cli.pods.forward:port_forward",
        "Forward local ports to ports of a running pod, until Ctrl-C.",
        WORK,
    ),
    "usage": CommandEntry(
        "ganglion.cli.queues.usage:usage",
        "Sum up the GPU-hours that were held, and what they cost.",
        LOOK,
    ),
    "report": CommandEntry(
        "ganglion.cli.queues.report:report",
        "Report GPU utilisation, waiting times and scheduling overhead.",
        LOOK,
    ),
    "models": CommandEntry(
        "ganglion.cli.workloads.models:models",
        "List models of live workloads, and give services another one.",
        CHANGE,
    ),
    "price": CommandEntry(
        "ganglion.cli.money.price:price", "Set and list what an hour of a GPU costs.", CLUSTER
    ),
    "budget": CommandEntry(
        "ganglion.cli.money.budget:budget",
        "Set and list what queues may spend in a month.",
        CLUSTER,
    ),
    "history": CommandEntry(
        "ganglion.cli.workloads.history:history",
        "List what has ended, with waits and GPU-hours.",
        LOOK,
    ),
    "events": CommandEntry("ganglion.cli.logs.events:events", "Print events, past and new.", LOOK),
    "wait": CommandEntry("ganglion.cli.logs.wait:wait", "Wait until workloads end or run.", LOOK),
    "cancel": CommandEntry("ganglion.cli.workloads.cancel:cancel", "Stop workloads.", CHANGE),
    "suspend": CommandEntry(
        "ganglion.cli.workloads.suspend:suspend", "Stop workspaces until they are resumed.", CHANGE
    ),
    "resume": CommandEntry(
        "ganglion.cli.workloads.suspend:resume", "Resume suspended workspaces.", CHANGE
    ),
    "retry": CommandEntry(
        "ganglion.cli.submission.retry:retry", "Submit failed work again.", CHANGE
    ),
    "update": CommandEntry(
        "ganglion.cli.workloads.update:update",
        "Change priority, queue, time limit or deadline; hold or release.",
        CHANGE,
    ),
    "scale": CommandEntry(
        "ganglion.cli.workloads.scale:scale", "Give a service another number of replicas.", CHANGE
    ),
    "open": CommandEntry(
        "ganglion.cli.workloads.open:open_", "Open a service or workspace in your browser.", LOOK
    ),
    "nodes": CommandEntry(
        "ganglion.cli.fleet.nodes:nodes", "List nodes and what is free on them.", CLUSTER
    ),
    "gpus": CommandEntry(
        "ganglion.cli.fleet.nodes:gpus", "Show free GPUs by type, and the largest hole.", CLUSTER
    ),
    "clusters": CommandEntry(
        "ganglion.cli.fleet.clusters:clusters",
        "List clusters whose schedulers deliver what they decide.",
        CLUSTER,
    ),
    "queues": CommandEntry(
        "ganglion.cli.queues.queues:queues", "List, describe, set and delete queues.", CLUSTER
    ),
    "policy": CommandEntry(
        "ganglion.cli.queues.policy:policy", "Check, apply and roll back policies.", CLUSTER
    ),
    "apply": CommandEntry(
        "ganglion.cli.queues.apply:apply",
        "Make policy, queues, prices, budgets and roles what files say.",
        CLUSTER,
    ),
    "export": CommandEntry(
        "ganglion.cli.queues.apply:export",
        "Write policy, queues, prices, budgets and roles as files into a folder.",
        CLUSTER,
    ),
    "booking": CommandEntry(
        "ganglion.cli.fleet.booking:booking",
        "Keep nodes for maintenance, or for a queue or user.",
        CLUSTER,
    ),
    "role": CommandEntry(
        "ganglion.cli.access.role:role", "Grant and revoke roles on queues.", CLUSTER
    ),
    "break-glass": CommandEntry(
        "ganglion.cli.access.glass:break_glass",
        "Make a grant for emergencies count for a while.",
        CLUSTER,
    ),
    "whocan": CommandEntry(
        "ganglion.cli.access.role:whocan", "List the grants that allow something.", CLUSTER
    ),
    "whoami": CommandEntry(
        "ganglion.cli.access.role:whoami",
        "Say who the server takes you for, and what you may do.",
        LOOK,
    ),
    "portal": CommandEntry(
        "ganglion.cli.access.portal:portal",
        "Print a link that opens the portal in a browser, once and within an hour.",
        LOOK,
    ),
    "token": CommandEntry(
        "ganglion.cli.access.token:token", "Make, list and revoke personal tokens.", CLUSTER
    ),
    "session": CommandEntry(
        "ganglion.cli.access.session:session", "List and end sessions of browsers.", CLUSTER
    ),
    "notify": CommandEntry(
        "ganglion.cli.access.notify:notify", "Choose what you are notified of.", CHANGE
    ),
    "user": CommandEntry(
        "ganglion.cli.access.user:user", "Add and change users who have passwords here.", CLUSTER
    ),
    "cordon": CommandEntry(
        "ganglion.cli.fleet.cordon:cordon", "Start nothing new on a node.", CLUSTER
    ),
    "uncordon": CommandEntry(
        "ganglion.cli.fleet.cordon:uncordon", "Let a node take work again.", CLUSTER
    ),
    "drain": CommandEntry(
        "ganglion.cli.fleet.drain:drain",
        "Empty a node or domain, each gang after a checkpoint.",
        CLUSTER,
    ),
    "undrain": CommandEntry(
        "ganglion.cli.fleet.drain:undrain", "Let the nodes of a drain take work again.", CLUSTER
    ),
    "sim": CommandEntry(
        "ganglion.cli.simulation.sim:sim", "Replay a trace on a simulated cluster.", TRY
    ),
    "whatif": CommandEntry(
        "ganglion.cli.whatif.whatif:whatif",
        "Ask what would have happened, had something been otherwise.",
        TRY,
    ),
    "scenarios": CommandEntry(
        "ganglion.cli.simulation.scenarios:scenarios",
        "Test a policy by scenarios.",
        TRY,
    ),
    "ledger": CommandEntry(
        "ganglion.cli.server.ledger:ledger",
        "Check, back up and move what the server has written.",
        TOOLS,
    ),
    "audit": CommandEntry(
        "ganglion.cli.server.audit:audit", "Read, export and verify the audit trail.", TOOLS
    ),
    "schema": CommandEntry(
        "ganglion.cli.schema:schema", "Print the JSON Schema of the workload or policy file.", TOOLS
    ),
    "plugins": CommandEntry(
        "ganglion.cli.plugins:plugins", "List plugins by extension point.", TOOLS
    ),
    "completion": CommandEntry(
        "ganglion.cli.completion:completion", "Print a completion script for your shell.", TOOLS
    ),
    "doctor": CommandEntry(
        "ganglion.cli.server.doctor:doctor", "Check for common problems.", TOOLS
    ),
    "version": CommandEntry(
        "ganglion.cli.server.version:version", "Print versions of client and server.", TOOLS
    ),
}

MOVED: dict[str, str] = {
    "bench": "benchmarks are not installed; in a checkout: python -m benchmarks NAME",
}
"""Commands of earlier versions -> what to do instead."""
