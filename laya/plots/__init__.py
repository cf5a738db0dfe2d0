"""Plotly figures from plain data; no streamlit, no torch."""

from laya.palette import ACCENT, GREY, OTHER
from laya.plots.axes import FEW
from laya.plots.curves import curve_chart, difference_chart
from laya.plots.depth import depth_chart
from laya.plots.evidence import accuracy_chart, method_chart
from laya.plots.heatmaps import agreement_chart, layer_heatmap
from laya.plots.maps import map_strip
from laya.plots.predictions import prediction_chart
from laya.plots.profiles import profile_chart, spread_chart

__all__ = [
    "ACCENT",
    "FEW",
    "GREY",
    "OTHER",
    "accuracy_chart",
    "agreement_chart",
    "curve_chart",
    "depth_chart",
    "difference_chart",
    "layer_heatmap",
    "map_strip",
    "method_chart",
    "prediction_chart",
    "profile_chart",
    "spread_chart",
]
