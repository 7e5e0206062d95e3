"""Where a gang goes in the topology as it is: domain, nodes, devices; no gang is stopped for it."""
