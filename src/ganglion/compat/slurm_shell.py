"""How a batch script is run without Slurm's own programs."""

import re

SRUN = re.compile(r"^[^#\n]*\bsrun\b", re.MULTILINE)
MPI = re.compile(r"^[^#\n]*\b(mpirun|mpiexec)\b", re.MULTILINE)
SHELLS = ("sh", "bash", "dash", "zsh", "ksh")
EXPRESSION = {"perl": "-e", "ruby": "-e", "Rscript": "-e", "julia": "-e", "node": "-e"}
"""Interpreters that take a program by another option than -c."""

PRELUDE = r"""srun() {
  local tasks=
  while [ $# -gt 0 ]; do
    case "$1" in
      --) shift; break ;;
      -n | --ntasks) tasks=$2; shift 2 ;;
      --ntasks=*) tasks=${1#*=}; shift ;;
      -n[0-9]*) tasks=${1#-n}; shift ;;
      --*=* | -[lukvOsEQX] | --label | --unbuffered | --exclusive | --overlap | --exact | \
        --pty | --overcommit | --quiet | --verbose | --no-kill | --kill-on-bad-exit) shift ;;
      --* | -?) shift 2 ;;
      -*) shift ;;
      *) break ;;
    esac
  done
  [ -n "$tasks" ] && [ "${RANK:-0}" -ge "$tasks" ] && return 0
  "$@"
}
scontrol() {
  [ "${1:-}" = requeue ] && { command scontrol "$@"; return; }
  [ "${1:-} ${2:-}" = "show hostnames" ] || { echo "scontrol $*: not known here" >&2; return 1; }
  printf '%s\n' "${3:-${SLURM_JOB_NODELIST:-}}" | tr ',' '\n'
}
"""
"""`srun` in a script that already runs once per task: it starts its command in place."""


def argv(script: str, name: str) -> list[str]:
    """The command that runs a copy of the script taken now, as Slurm does.

    Args:
        script: its text, with or without `#!` line.
        name: what `$0` is.
    """
    interpreter = _interpreter(script)
    program = interpreter[-1].rpartition("/")[2]
    if program not in SHELLS:
        return [*interpreter, EXPRESSION.get(program, "-c"), script, name]
    prelude = PRELUDE if SRUN.search(script) or "scontrol" in script else ""
    return [*interpreter, "-c", prelude + script, name]


def _interpreter(script: str) -> list[str]:
    first = script.partition("\n")[0]
    return (first[2:].split() if first.startswith("#!") else []) or ["/bin/bash"]
