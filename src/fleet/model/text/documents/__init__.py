"""Documents that people write, as trees: the kinds and tables that they are checked by. Settings, engines and jobs have tables of their own."""
