"""The portal as built files: checked against their manifest, then served from memory.

May import `rest`. The files come from `portal/` of the sources; see docs/portal.md.
"""
