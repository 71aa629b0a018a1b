"""The one interface of all surfaces: `Acts` for what agents call all day, `Fleet` for everything."""
