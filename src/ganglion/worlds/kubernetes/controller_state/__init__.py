"""All that the controller knows: of its clusters, and one owner for each sort of memory."""
