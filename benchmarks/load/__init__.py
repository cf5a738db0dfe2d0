"""Many people at once on the real app: is every answer right, how fast, how much memory? ``python -m benchmarks.load``.

Visitors upload pictures, change settings and read the numbers in the charts that they are sent. These are compared with
what the library says about the same picture in this process, alone.
"""
