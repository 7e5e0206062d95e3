"""The past of the fleet as it is shown, and what is planned."""
