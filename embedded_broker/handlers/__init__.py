"""Handlers by request: each module registers its functions with `remoting.handler_table.handles`."""
