"""What asks the machine, and how."""
