"""The root helper of a shared host: the only code of Ganglion that needs the rights of root.

`ganglion helper` starts it. It imports the standard library only, and nothing else of Ganglion.
"""
