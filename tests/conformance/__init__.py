"""One suite for every RocketMQ: the embedded cluster as both releases, and a real one that MQCTL_TEST_NAMESRV names.

Only what clients and tools can see counts; every test works on topics and groups of its own and leaves the rest of the
cluster alone; a real cluster is rid of them in the end. It has to allow the creation of topics and groups.
"""
