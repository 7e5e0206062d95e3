"""What may import what."""
