"""The only place, beside the pages, that imports streamlit."""

from laya.errors import LayaError

__all__ = ["LayaError"]
