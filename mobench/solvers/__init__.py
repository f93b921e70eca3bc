"""Exact solvers on the K×K Gram matrix `G[i, j] = <g_i, g_j>`, numpy float64, without torch.

Each solver states its problem in symbols. All of them are scale-free: a Gram matrix is first brought
to unit diagonal (`mobench.solvers.scaling`), so that gradients of very different length lose no
digits. The caller guarantees that the Gram matrix is symmetric and that K ≥ 1; one that is not finite is
refused. Where a result jumps (feasible, solved, zero), `resolution` says what counts as zero: pass
`step.resolution`, which knows how the matrix was taken.
"""

from mobench.solvers.conflict_aversion import conflict_averse
from mobench.solvers.dual_cone import project_on_dual_cone
from mobench.solvers.fair_allocation import fair_allocation
from mobench.solvers.gradient_surgery import surgery, vaccinate
from mobench.solvers.min_norm import min_norm_point
from mobench.solvers.nash_bargaining import Bargain, nash_bargain
from mobench.solvers.primary_projection import Projection, project_primary
from mobench.solvers.priority_cascade import Cascade, Relaxation, project_in_levels
from mobench.solvers.scaling import RESOLUTION, correlation
from mobench.solvers.simplex_program import best_on_simplex, best_worst_case, project_on_simplex
from mobench.solvers.spectrum import balanced_weights, equal_projections

__all__ = [
    "RESOLUTION",
    "Bargain",
    "Cascade",
    "Projection",
    "Relaxation",
    "balanced_weights",
    "best_on_simplex",
    "best_worst_case",
    "conflict_averse",
    "correlation",
    "equal_projections",
    "fair_allocation",
    "min_norm_point",
    "nash_bargain",
    "project_in_levels",
    "project_on_dual_cone",
    "project_on_simplex",
    "project_primary",
    "surgery",
    "vaccinate",
]
