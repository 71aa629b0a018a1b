"""The one interface of all surfaces: `Fleet`, one actor at one home, whose parts are named by what they are about."""
