"""The show around the demo: stage, board, story, and the summary at the end."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.text import Text

from ganglion.cli.output.explanation import print_why
from ganglion.cli.output.screen import out
from ganglion.cli.submission.plan import print_verdicts
from ganglion.demo.story.board import Board, jobs, promises
from ganglion.demo.story.stage import DemoServer, stage
from ganglion.demo.story.story import Story, Voices


def show(*, keep: bool) -> int:
    """Play the demo; return 0 when it kept every promise."""
    begun = time.monotonic()
    out().print(Text("Starting a server with 4 nodes x 8 pretend GPUs in 2 racks.", "bold"))
    with _terminable(), stage(keep=keep) as here:
        story = _play(here, keep=keep)
        _summary(story, time.monotonic() - begun)
        if keep:
            _how_to_look_around(here)
    if not keep:
        out().print("The server has stopped; nothing is left running.")
    return 0 if all(check.held for check in story.checks) else 1


def _play(here: DemoServer, *, keep: bool) -> Story:
    client = here.client
    voices = Voices(print_why, lambda document: _verdict(here, document))
    with Board(out(), client.nodes()) as board:
        story = Story(here, board, voices)
        story.play()
        if not keep:
            story.close()
    return story


def _verdict(here: DemoServer, document: dict[str, object]) -> None:
    print_verdicts(here.client, [document], "text")


def _summary(story: Story, seconds: float) -> None:
    console, scene = out(), story.watch.look()
    console.print()
    console.print(jobs(scene))
    console.print()
    console.print(promises(story.checks))
    broken = sum(not check.held for check in story.checks)
    style = "bold red" if broken else "bold green"
    kept = f"{len(story.checks) - broken} of {len(story.checks)} promises kept"
    console.print(Text(f"\n{kept} in {seconds:.0f} s.", style))


def _how_to_look_around(here: DemoServer) -> None:
    out().print(
        f"\nThe server goes on. Look around:\n  export GANGLION_HOME={here.home}\n"
        "  ganglion ps -a\n  ganglion why vision-api\n  ganglion nodes\n"
        "Stop it:\n  ganglion down --cancel && rm -r $GANGLION_HOME"
    )


@contextmanager
def _terminable() -> Iterator[None]:
    """Clean up after SIGTERM as after Ctrl-C."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
