"""The one interface of all surfaces: class `Fleet`. It acts for one actor at one home and has a part for each topic."""
