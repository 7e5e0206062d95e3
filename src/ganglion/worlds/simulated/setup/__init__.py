"""From the options of a simulation to its scenario: trace or synthetic jobs, cluster, policy."""
