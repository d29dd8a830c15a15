"""A broker's on-disk formats: layouts, numpy scanners, verification."""
