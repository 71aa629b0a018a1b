"""The files that engines keep of conversations: finding them, the tokens that were used in them, and what these cost."""
