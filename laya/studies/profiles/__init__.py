"""Depth profiles of a data set: what each class asks of each depth.

One pass over the pictures leaves one row of figures each (:func:`collect`), on disk and resumable where the data is
large. Running sums over the rows (:class:`Sums`), kept for every pair of true and predicted class, then answer
everything: by true class, by predicted class, right or wrong, confused with what. Their memory depends on the number
of classes and layers alone.
"""

from laya.studies.profiles.outliers import distances, outliers, places
from laya.studies.profiles.report import build
from laya.studies.profiles.similarity import apart, by_similarity, depth, shares
from laya.studies.profiles.sums import Moments, Sums
from laya.studies.profiles.table import Table, collect

__all__ = [
    "Moments",
    "Sums",
    "Table",
    "apart",
    "build",
    "by_similarity",
    "collect",
    "depth",
    "distances",
    "outliers",
    "places",
    "shares",
]
