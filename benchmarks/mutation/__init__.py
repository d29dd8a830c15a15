"""How sharp the tests of the pure rooms are: small faults are planted at random, and counted where they are seen."""
