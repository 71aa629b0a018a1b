"""Who works: one data file an engine, one reader of them and of their screens."""
