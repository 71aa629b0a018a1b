"""Benchmarks of what fleet costs, as ratios: each is measured in turns with the thing that it is compared with."""
