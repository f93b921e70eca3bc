"""The trained tensors: their names, which of them all objectives share, and where each stands in an n-vector."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torch import Tensor

from mobench.errors import UserError


class Layout:
    """Trained tensors, of which methods see the shared ones; all are shared unless it is said.

    An n-vector has the entries of the shared tensors, in their order among `parameters`. The others
    belong to single objectives, e.g. the heads of a network with several tasks.
    """

    def __init__(
        self,
        parameters: Iterable[Tensor],
        shared: Iterable[Tensor] | None = None,
        names: Sequence[str] | None = None,
        *,
        leaves: bool = True,
    ) -> None:
        self.parameters = tuple(parameters)
        if not self.parameters:
            raise UserError("parameters is empty; it takes the tensors that an optimizer updates")
        for index, parameter in enumerate(self.parameters):
            if not isinstance(parameter, Tensor) or (leaves and not parameter.is_leaf) or parameter.is_complex():
                raise UserError(f"parameters[{index}] is no real leaf tensor, such as an optimizer updates")
        positions = {id(parameter): index for index, parameter in enumerate(self.parameters)}
        if len(positions) < len(self.parameters):
            raise UserError("parameters holds one tensor twice")
        chosen = set(range(len(self.parameters)) if shared is None else self._positions(shared, positions))
        self.shared = [index for index in range(len(self.parameters)) if index in chosen]
        """Positions of the shared tensors."""
        self.own = [index for index in range(len(self.parameters)) if index not in chosen]
        """Positions of the others."""
        self.names = tuple(map(str, range(len(self.parameters)))) if names is None else tuple(names)
        if len(set(self.names)) < len(self.parameters) or len(self.names) > len(self.parameters):
            raise UserError(f"{len(self.parameters)} parameters need as many different names: {', '.join(self.names)}")

    @staticmethod
    def _positions(shared: Iterable[Tensor], positions: dict[int, int]) -> list[int]:
        tensors = list(shared)
        if not tensors:
            raise UserError("shared is empty; it takes the parameters that all losses share")
        for index, tensor in enumerate(tensors):
            if id(tensor) not in positions:
                raise UserError(f"shared[{index}] is not among the parameters")
        return [positions[id(tensor)] for tensor in tensors]

    @property
    def slices(self) -> dict[str, slice]:
        """Where each shared tensor stands in an n-vector, by name."""
        found, start = {}, 0
        for index in self.shared:
            end = start + self.parameters[index].numel()
            found[self.names[index]] = slice(start, end)
            start = end
        return found
