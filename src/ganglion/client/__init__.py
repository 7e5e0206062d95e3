"""The Python SDK: everything the command line can do, as typed calls.

from ganglion.client import Client

with Client.from_home() as client:
    submitted = client.submit({"name": "hello", "run": "python train.py"})
    print(client.why(submitted.id).explanations[0].text)
"""

from ganglion.client.client import Client

__all__ = ["Client"]
