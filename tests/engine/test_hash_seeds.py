"""Equal events give equal decisions in every process, whatever the order of its sets."""

import os
import subprocess
import sys

from tools.archlint.source import ROOT

from tests.effort import examples

WORLDS = tuple(str(seed) for seed in range(1, 1 + examples(2, nightly=6)))


def test_decisions_are_the_same_under_two_hash_seeds() -> None:
    one, other = (_decided(seed) for seed in ("1", "4242"))
    assert len(one) == 5 * len(WORLDS)
    assert len(set(one)) > 2 * len(WORLDS)
    assert one == other


def _decided(seed: str) -> list[str]:
    command = [sys.executable, "-m", "tests.engine.hash_seeds", *WORLDS]
    env = os.environ | {"PYTHONHASHSEED": seed}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()
