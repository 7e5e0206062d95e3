"""What happened: the event store that every state is rebuilt from.

Names are imported from its modules, so that who only reads records needs no database.
"""
