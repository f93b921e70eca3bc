"""Physical removal of filters: what can go, what should go, and the smaller network.

structure = trace(model, names_of_penalised_weights, example)      # once per architecture
plan = Planner(model, structure).plan(0.9)                         # at the trained weights
smaller = remove(model, structure, plan)                           # a plain nn.Module
"""

from .folding import fold_constants
from .plan import Planner, PruningPlan
from .structure import Structure, trace
from .surgery import mask, remove

__all__ = ["Planner", "PruningPlan", "Structure", "fold_constants", "mask", "remove", "trace"]
