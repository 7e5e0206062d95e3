"""What nodes of a cluster are to the model: size, devices, place, and whether they are open."""
