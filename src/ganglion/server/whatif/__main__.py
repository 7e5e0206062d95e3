"""The process that answers one question: reads it from its input, writes the answer.

python -m ganglion.server.whatif < task.json > answer.json
"""

import sys

from ganglion.server.whatif.answering import main

if __name__ == "__main__":
    sys.stdout.buffer.write(main(sys.stdin.buffer.read()))
