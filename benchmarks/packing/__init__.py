"""How full a cluster of GPUs becomes, and stays as pods come and go."""
