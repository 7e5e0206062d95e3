"""What model servers say of themselves in Prometheus' text format, as readings of load."""
