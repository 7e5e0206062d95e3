"""The words of the field as frozen, validated types.

Quantities are integers: GPU shares and CPUs in thousandths, memory in MiB, time in
milliseconds. Nothing here does I/O, and nothing beyond arithmetic belongs here.
"""
