"""`ganglion schema`."""

from ganglion.cli.options import command
from ganglion.cli.tables import print_data


@command("schema", "schema > workload.schema.json")
def schema() -> None:
    """Print the JSON Schema of the workload file.

    Editors complete and check keys with it.
    """
    from ganglion.files.json_schema import workload_schema

    print_data(workload_schema(), "json")
