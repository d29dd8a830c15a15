"""For tests and stand-alone use: clusters on threads, fixtures, options, the control socket."""
