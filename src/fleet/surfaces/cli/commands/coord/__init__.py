"""The commands about coordinators: coord, handoff, handoffs, drain, rc."""
