"""The gRPC endpoint of a cluster: what a 5.3.3 proxy serves, over the operations of brokers in the same process."""
