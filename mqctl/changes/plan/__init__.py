"""Pure planners: from what is and what is requested to a plan. Nothing here asks or changes a cluster."""
