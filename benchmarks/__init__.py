"""How fast it is, against the bare backbone and against the peers: ``python -m benchmarks``."""
