"""The Python SDK: everything the command line can do, as typed calls.

from ganglion.client import Client

with Client.from_home() as client:
    submitted = client.submit({"name": "hello", "run": "python train.py"})
    print(client.why(submitted.id).explanations[0].text)
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ganglion.client.client import Client

__all__ = ["Client"]


def __getattr__(name: str) -> object:
    """Import the client when it is asked for: what it needs takes longer than most commands."""
    if name == "Client":
        from ganglion.client.client import Client  # noqa: PLC0415 - see above

        return Client
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
