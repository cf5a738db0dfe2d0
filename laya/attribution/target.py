"""What is explained: the check that every function with a target makes."""

import numpy as np
from torch import Tensor

from laya.errors import LayaError, shown


def check_target(target: int | Tensor, classes: int, images: int) -> list[int]:
    """The classes to explain, one for each image, if they are classes.

    Parameters
    ----------
    target : the index of a class, or indices (B,).
    classes : K, how many the model knows.
    images : B.

    Returns
    -------
    B indices.

    Raises
    ------
    LayaError
        Not whole numbers from 0 to K - 1, or not one for each image.
    """
    indices = target.flatten().tolist() if isinstance(target, Tensor) else [target]
    for index in indices:
        # True and -1 are indices to Python, but no classes.
        if isinstance(index, bool) or not isinstance(index, (int, np.integer)) or not 0 <= index < classes:
            raise LayaError(
                f"A target is the index of a class, a whole number from 0 to {classes - 1}, not {shown(index)}."
            )
    if len(indices) != images:
        raise LayaError(f"Give one target for each image: {images}, not {len(indices)}.")
    return [int(index) for index in indices]
