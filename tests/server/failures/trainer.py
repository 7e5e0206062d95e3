"""A bare training script: no framework, several ranks, rank 0 saves. Run by test_lost_work.

It writes down every step with its time, so that a test knows what was done and done again.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

from ganglion import checkpoint

STEP_S = 0.02


def main(marks: Path, steps: int, every: int, manner: str) -> int:
    """Train; `manner` is `polite` (saves when asked to stop) or `deaf` (goes on, and is stuck)."""
    rank, folder = int(os.environ["RANK"]), Path(os.environ["GANGLION_CHECKPOINT_DIR"])
    found = checkpoint.resume()
    step = json.loads(Path(found.path).read_text())["step"] if found else 0
    assert found is None or found.step == step
    if manner == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    say = marks.open("a", buffering=1)
    while step < steps:
        time.sleep(STEP_S)
        step += 1
        print(checkpoint.attempt(), rank, step, time.time_ns() // 1_000_000, file=say)
        stop = manner == "polite" and checkpoint.should_stop()
        stuck = manner == "deaf" and Path(os.environ["GANGLION_STOP_FILE"]).exists()
        if rank == 0 and (stop or step % every == 0) and not stuck:
            (folder / "new").write_text(json.dumps({"step": step}))
            (folder / "new").rename(folder / f"{step}.json")
            assert checkpoint.committed(step, f"{step}.json")
        if stop:
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]))
