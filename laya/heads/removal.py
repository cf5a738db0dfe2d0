"""What taking a layer away means: three definitions, and every figure names its own.

- ``zero-term`` drops the layer's term ``alpha_i W z_i`` and keeps the other weights.
- ``renormalise`` drops the layer and shares its weight out among the others: the softmax over the layers that are left.
- ``zero-state`` sets the layer's hidden state h_i to 0 and runs the head again.
"""

from typing import Literal, get_args

Removal = Literal["zero-term", "renormalise", "zero-state"]
REMOVALS: tuple[Removal, ...] = get_args(Removal)
