"""What GPUs of clusters do for the gangs that hold them, as the exporters of their nodes say.

The scheduler that leads asks them; sums go to the server with what turns report.
"""
