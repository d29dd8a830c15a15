"""Reports over stores for people: words, tables, charts, pages."""
