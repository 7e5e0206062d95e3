"""The process that answers one question: reads it from its input, writes the answer.

python -m ganglion.server.whatif < task.json > answer.json
"""

import sys

from ganglion.seams.forks import end_with_reader
from ganglion.server.whatif.answering import main

if __name__ == "__main__":
    end_with_reader(sys.stdout.fileno())
    sys.stdout.buffer.write(main(sys.stdin.buffer.read()))
