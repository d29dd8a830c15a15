"""Talking to a cluster: connections, name servers, brokers, fan-out, producers and consumers.

* `link`, `links`: one connection and one reader thread per address; many requests are in flight on each.
* `question`: a `Question` is a request together with how its answer reads; `nameserver`, `broker` and
  `broker_messages` declare them, `Links.ask` puts one, `fan_out` many at once.
* `cluster`: addresses of a whole cluster, and questions to all of them under one deadline.
* `producer`, `transactions`, `push_consumer`, `lite_pull`: clients that behave as the Java ones do, on real threads.
* `guards`, `dedup`, `trace`: what can be put around a listener or a producer.

Nothing here imports asyncio or logging: a command that asks one question pays for sockets and a thread.
"""
