"""Published figures of the packing protocol.

Allocated GPUs as a percentage of all, when 100 % and 130 % of them have been asked for: means over
ten seeds, from the authors' simulator (github.com/hkust-adsl/kubernetes-scheduler-simulator, commit
8f3d6417, folder of expected results; Apache-2.0), Weng et al., USENIX ATC'23.
"""

PUBLISHED: dict[str, dict[str, tuple[float, float]]] = {
    "cpu050": {
        "fgd": (95.00, 95.21),
        "bestfit": (93.56, 93.79),
        "packing": (93.46, 93.72),
        "random": (89.02, 91.24),
    },
    "cpu100": {
        "fgd": (95.21, 95.35),
        "bestfit": (93.26, 93.44),
        "packing": (92.50, 92.72),
        "random": (87.44, 89.11),
    },
    "cpu200": {
        "fgd": (94.82, 95.05),
        "bestfit": (92.15, 92.40),
        "packing": (89.98, 90.22),
        "random": (83.03, 83.77),
    },
    "cpu250": {
        "fgd": (93.20, 93.41),
        "bestfit": (91.21, 91.45),
        "packing": (88.05, 88.28),
        "random": (80.00, 80.42),
    },
    "default": {
        "fgd": (95.23, 95.39),
        "bestfit": (92.86, 93.08),
        "packing": (91.78, 92.00),
        "random": (86.30, 87.47),
    },
    "gpushare100": {
        "fgd": (86.64, 86.90),
        "bestfit": (84.62, 85.01),
        "packing": (82.13, 82.57),
        "random": (78.90, 79.44),
    },
    "gpushare40": {
        "fgd": (93.96, 94.15),
        "bestfit": (91.44, 91.69),
        "packing": (89.77, 90.03),
        "random": (84.86, 86.00),
    },
    "gpushare60": {
        "fgd": (91.25, 91.40),
        "bestfit": (89.06, 89.36),
        "packing": (87.15, 87.45),
        "random": (82.81, 83.65),
    },
    "gpushare80": {
        "fgd": (89.08, 89.31),
        "bestfit": (86.66, 87.01),
        "packing": (84.65, 85.00),
        "random": (80.62, 81.22),
    },
    "gpuspec10": {
        "fgd": (94.66, 94.95),
        "bestfit": (93.10, 93.31),
        "packing": (92.24, 92.46),
        "random": (86.26, 87.43),
    },
    "gpuspec20": {
        "fgd": (94.66, 94.84),
        "bestfit": (88.46, 93.30),
        "packing": (89.28, 92.94),
        "random": (85.90, 87.24),
    },
    "gpuspec25": {
        "fgd": (93.91, 94.74),
        "bestfit": (85.67, 93.23),
        "packing": (86.77, 92.98),
        "random": (85.42, 86.94),
    },
    "gpuspec33": {
        "fgd": (87.84, 94.55),
        "bestfit": (80.39, 93.09),
        "packing": (82.22, 93.22),
        "random": (83.87, 86.46),
    },
    "multigpu20": {
        "fgd": (95.53, 95.65),
        "bestfit": (93.73, 93.93),
        "packing": (93.50, 93.71),
        "random": (86.92, 88.69),
    },
    "multigpu30": {
        "fgd": (96.36, 96.46),
        "bestfit": (94.57, 94.72),
        "packing": (94.70, 94.87),
        "random": (86.63, 89.27),
    },
    "multigpu40": {
        "fgd": (96.91, 96.99),
        "bestfit": (95.10, 95.23),
        "packing": (95.59, 95.74),
        "random": (85.38, 90.09),
    },
    "multigpu50": {
        "fgd": (97.09, 97.18),
        "bestfit": (95.62, 95.74),
        "packing": (96.06, 96.18),
        "random": (81.28, 90.28),
    },
}
"""Workload -> policy by our name -> (at 100 %, at 130 %)."""
