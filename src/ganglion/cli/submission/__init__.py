"""Commands that submit: files, one command, jobs with a terminal; above `workloads` and `pods`."""
