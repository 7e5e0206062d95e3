"""What happened: the event store that every state is rebuilt from.

Names are imported from its modules, so that code that only reads records needs no database.
"""
