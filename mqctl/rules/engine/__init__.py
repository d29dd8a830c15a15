"""What all rules stand on: how they are declared and found, judged, left out and explained."""
