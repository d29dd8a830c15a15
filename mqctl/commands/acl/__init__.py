"""`mqctl acl`: users of 5.x brokers, accounts of 4.9, and what they may do."""
