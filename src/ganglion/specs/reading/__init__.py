"""From text to checked mappings: YAML with lines, other names of keys, types of fields."""
