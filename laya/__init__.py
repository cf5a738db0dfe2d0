"""LAYA: see how deep in the network an image classifier made its decision.

The public names are loaded when they are first used, so that ``import laya`` does not wait for torch.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from laya.attribution import Settings
    from laya.checkpoints import Checkpoint, load
    from laya.checkpoints.hub import LayaModel
    from laya.errors import LayaError
    from laya.explanation import Explanation, explain
    from laya.explanation.comparison import Comparison, compare
    from laya.model import LayaClassifier, Trace

_HOME = {
    "Checkpoint": "laya.checkpoints",
    "Comparison": "laya.explanation.comparison",
    "Explanation": "laya.explanation",
    "LayaClassifier": "laya.model",
    "LayaError": "laya.errors",
    "LayaModel": "laya.checkpoints.hub",
    "Settings": "laya.attribution",
    "Trace": "laya.model",
    "compare": "laya.explanation.comparison",
    "explain": "laya.explanation",
    "load": "laya.checkpoints",
}

__all__ = [
    "Checkpoint",
    "Comparison",
    "Explanation",
    "LayaClassifier",
    "LayaError",
    "LayaModel",
    "Settings",
    "Trace",
    "compare",
    "explain",
    "load",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'laya' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)
