"""What words of mqctl and of Kafka mean."""
