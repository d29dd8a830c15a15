"""Values to text: tables, JSON, YAML, CSV, and the message catalogue."""
