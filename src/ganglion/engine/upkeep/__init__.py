"""What else a cycle does for running gangs: grow, shrink, replace, drain, defragment, recall."""
