"""What fleet costs, as ratios: each beside the thing it is compared with, in the same run, taking turns."""
