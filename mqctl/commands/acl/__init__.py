"""`mqctl acl`: users of 5.x brokers and what they may do."""
