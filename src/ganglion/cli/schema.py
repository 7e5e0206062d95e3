"""`ganglion schema`."""

import rich_click as click

from ganglion.cli.options import command
from ganglion.cli.output.tables import print_data


@command("schema", "schema > workload.schema.json", "schema policy > policy.schema.json")
@click.argument("file", type=click.Choice(["workload", "policy"]), default="workload")
def schema(file: str) -> None:
    """Print the JSON Schema of the workload or policy file.

    Editors complete and check keys with it.
    """
    from ganglion.specs.workload.json_schema import policy_schema, workload_schema

    print_data(policy_schema() if file == "policy" else workload_schema(), "json")
