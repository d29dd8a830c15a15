"""Which cluster, with which credentials: options, profiles, key files, brokers seen before."""
