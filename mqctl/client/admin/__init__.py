"""What name servers and brokers are asked and told by operators."""
