"""Local clusters: their rows, scenarios, the quickstart."""
