"""Other people's objects and scripts, read into Ganglion's own.

`sbatch` reads batch scripts with `#SBATCH` lines; `workloads` reads those and workload files. A
translation never drops anything in silence: what cannot be honoured is a warning that names the
line. Imports model and specs only.
"""
