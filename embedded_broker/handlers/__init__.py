"""Handlers by request: every module here registers its functions with `embedded_broker.registry.handles`."""
