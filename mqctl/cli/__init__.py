"""What every command shares: catalog, options, emit, exit codes."""
