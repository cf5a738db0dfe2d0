"""One method's scores over the layers, as plain values that charts and tables read."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LayerScores:
    """One number a layer.

    Attributes
    ----------
    method : the method's id.
    label : its name for people.
    family : intrinsic, post-hoc or measured.
    description : what it is, in one sentence.
    colour : hex colour.
    unit : the unit of ``values``.
    values : L raw scores, shallow to deep.
    """

    method: str
    label: str
    family: str
    description: str
    colour: str
    unit: str
    values: tuple[float, ...]

    @property
    def shares(self) -> tuple[float, ...]:
        """The scale that all methods share: each score over the sum of magnitudes, sign kept; in [-1, 1].

        All zero stays all zero: no evidence at any layer.
        """
        total = sum(abs(value) for value in self.values)
        return tuple(value / total if total else 0.0 for value in self.values)
