"""The cluster's state: its components, the events that change it, and ways back from failures."""
