"""Which cluster, as whom: kubeconfig files, credentials, TLS."""
