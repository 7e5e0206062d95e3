"""What users may have done; each runs within one turn."""
