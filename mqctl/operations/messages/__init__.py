"""Single messages: sending, finding, following, consuming."""
