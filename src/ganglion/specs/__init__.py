"""The files that people write: workloads and clusters, with errors that name file, line and key.

`text`, `yaml` and `grammar` are light; modules that validate whole files import pydantic.
"""
