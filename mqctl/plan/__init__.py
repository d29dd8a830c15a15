"""Pure planners: from what is and what is wished to a plan. Nothing here asks or changes a cluster."""
