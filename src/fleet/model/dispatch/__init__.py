"""Dispatches and claims: their steps, and the decisions about them."""
