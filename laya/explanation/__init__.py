"""One input explained, and several explanations side by side."""

from laya.explanation.explanation import (
    Explanation,
    Faithfulness,
    Seconds,
    explain,
    explain_trace,
    prepare_image,
    trace_image,
)

__all__ = ["Explanation", "Faithfulness", "Seconds", "explain", "explain_trace", "prepare_image", "trace_image"]
