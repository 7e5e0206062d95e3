"""What objects say about gangs: events, why pods wait, the status of groups."""
