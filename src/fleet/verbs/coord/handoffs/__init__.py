"""Handoffs of agents to successors: request, document, queue and drain, and the limit on handoffs without progress."""
