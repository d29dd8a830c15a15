"""Values of the domain; standard library only."""
