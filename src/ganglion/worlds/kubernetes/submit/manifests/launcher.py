"""The script that starts a pod's processes where one plain command is not enough.

It is needed where a shell line, a setup, several processes, a signal of its own or the numbering
over several controllers is asked for. It runs as the first process of a container, which gets
signals that shells do not pass on, and for which unhandled signals do nothing.
"""

from shlex import quote

from ganglion.lifecycle.expand import PARAM_PREFIX, params_of, run_of
from ganglion.model.workload import Workload
from ganglion.worlds.kubernetes.submit.manifests.shape import ControllerPods

FOLDER = "/etc/ganglion"
LAUNCH = "launch"
HOSTFILE = "hostfile"
TRIAL = "trial-"
STOP_SIGNAL = "SIGTERM"
"""The signal that kubelets send."""

SCRIPT = """\
# Starts the processes of one pod: sh launch line|words COMMAND...
stop=${GANGLION_STOP_SIGNAL:-TERM} procs=${GANGLION_PROCS:-1} index=${GANGLION_POD_INDEX:-0}
children='' told='' boss=$$
shell=$(command -v bash || command -v sh)

# Tell a signal to everything in this container; where it is not ours alone, to the children.
tell() {
  if [ "$boss" -eq 1 ]; then kill -s "$1" -- -1; else
    for child in $children; do kill -s "$1" "$child"; done
  fi 2>/dev/null
}

# Wait for one child to the end: a wait that a signal cut short is begun again.
await() {
  before=''
  while :; do
    cut=''; wait "$1"; now=$?
    [ "$now" -ge 0 ] || now=143  # bash has forgotten how it ended after such a signal
    if [ "$now" -eq 127 ] && [ -n "$before" ]; then return "$before"; fi
    [ -n "$cut" ] || return "$now"
    before=$now
  done
}

trap 'cut=1 told=1; tell "$stop"' TERM "$stop"

node=$((${GANGLION_FIRST_POD:-0} + index))
export NODE_RANK=$node GROUP_RANK=$node PET_NODE_RANK=$node GANGLION_NODE_RANK=$node
first=$((${GANGLION_FIRST_RANK:-0} + index * procs))

mode=$1; shift
if [ -n "$GANGLION_TRIALS" ]; then . "$GANGLION_TRIALS$GANGLION_INDEX"; fi
if [ "$mode" = line ]; then set -- "$shell" -c "$1"; fi
if [ -n "$GANGLION_SETUP" ]; then
  "$shell" -c "$GANGLION_SETUP" & children=$!
  await "$children"; got=$?
  if [ "$got" -ne 0 ]; then echo "setup ended with exit code $got" >&2; exit "$got"; fi
  [ -z "$told" ] || exit 143
fi

begin() {
  export LOCAL_RANK="$1" RANK=$((first + $1))
  if [ -n "$SLURM_NTASKS" ]; then export SLURM_PROCID=$RANK SLURM_LOCALID=$1 SLURM_NODEID=$node; fi
  if [ -n "$GANGLION_GPU_SPLIT" ]; then
    part=$GANGLION_GPU_SPLIT skip=$1
    while [ "$skip" -gt 0 ]; do part=${part#*;} skip=$((skip - 1)); done
    export CUDA_VISIBLE_DEVICES="${part%%;*}"
  fi
}

# A process and the one that watches over it. When the first one fails, its peers would wait for
# it for ever: they are stopped, and killed after the grace.
watched() {
  mine=''
  if [ "$boss" -eq 1 ]; then trap 'cut=1 told=1' TERM "$stop"; else
    trap 'cut=1 told=1; [ -z "$mine" ] || kill -s "$stop" "$mine" 2>/dev/null' TERM "$stop"
  fi
  "$@" & mine=$!
  await "$mine"; got=$?
  if [ "$got" -ne 0 ] && [ -z "$told" ]; then
    sleep 1  # by then those that come after it have begun, too
    tell TERM
    (sleep "${GANGLION_GRACE:-30}"; tell KILL) >/dev/null 2>&1 &
  fi
  exit "$got"
}

children='' local=0
while [ "$local" -lt "$procs" ]; do
  begin "$local"
  if [ "$procs" -eq 1 ]; then "$@" & else (watched "$@") & fi
  children="$children $!" local=$((local + 1))
done
[ -z "$told" ] || tell "$stop"
worst=0
for child in $children; do
  await "$child"; got=$?
  # What a peer was stopped with says less than what the first one failed with.
  case $worst in 0 | 137 | 143) [ "$got" -eq 0 ] || worst=$got ;; esac
done
exit "$worst"
"""


def is_needed(crew: ControllerPods, signal: str, *, swept: bool) -> bool:
    """Whether a crew's pods cannot run their command as it is.

    Args:
        crew: the pods.
        signal: what asks them to save and leave.
        swept: whether every pod has parameters of its own.
    """
    run = crew.run
    numbered = crew.first_pod > 0
    several = crew.pods.procs > 1
    return run.shell or bool(run.setup) or several or numbered or swept or signal != STOP_SIGNAL


def trial(workload: Workload, index: int) -> str:
    """What one trial has of its own, for the shell: parameters, environment, words.

    Args:
        workload: a sweep.
        index: number of the trial.
    """
    run = run_of(workload, index)
    given = {f"{PARAM_PREFIX}{name.upper()}" for name in params_of(workload, index)}
    own = {k: v for k, v in run.env.items() if k in given or workload.run.env.get(k) != v}
    if run.setup != workload.run.setup:
        own["GANGLION_SETUP"] = run.setup
    lines = [f"export {name}={quote(value)}" for name, value in own.items()]
    if run.command != workload.run.command:
        lines.append(f"set -- {' '.join(map(quote, run.command))}")
    return "\n".join([*lines, ""])
