"""Who may do what: roles, grants on subtrees of queues, and the one function that decides.

Pure, and below everything else: it imports nothing of Ganglion.
"""
