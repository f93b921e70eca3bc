"""What pymoo does when left alone, and that our functions do not inherit it.

The first assertion of each test shows the trap in the library; when one of them fails after an
upgrade, the library has changed and the guard can be looked at again.
"""

from __future__ import annotations

import numpy as np
import pytest
from pymoo.indicators.gd_plus import GDPlus
from pymoo.indicators.hv import HV
from pymoo.indicators.igd_plus import IGDPlus

from mobench.errors import NonFiniteError, UserError
from mobench.scoring.indicators.distance import gd_plus, igd_plus
from mobench.scoring.indicators.hypervolume import hypervolume

FRONT = np.array([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]])
UNIT = ((0.0, 0.0), (1.0, 1.0))


def test_a_reference_derived_from_the_front_erases_its_boundary_points():
    assert HV(pf=FRONT)(FRONT) == HV(pf=FRONT)(FRONT[1:2])
    wide = (0.0, 0.0), (2.0, 2.0)
    assert hypervolume(FRONT, *wide) > hypervolume(FRONT[1:2], *wide)


def test_a_normalised_reference_is_normalised_again():
    points, ideal, nadir = np.array([[15.0, 15.0]]), np.full(2, 10.0), np.full(2, 20.0)
    twice = HV(ref_point=np.ones(2), ideal=ideal, nadir=nadir, zero_to_one=True)
    assert twice(points) == 0.0
    assert hypervolume(points, ideal, nadir) == 0.25


def test_an_empty_set_is_the_best_in_the_distances_and_silent_in_the_hypervolume():
    nothing = np.empty((0, 2))
    assert HV(ref_point=np.ones(2))(nothing) == IGDPlus(FRONT)(nothing) == GDPlus(FRONT)(nothing) == 0.0
    for metric in (igd_plus, gd_plus):
        with pytest.raises(UserError, match="empty set"):
            metric(nothing, FRONT, *UNIT)
    with pytest.raises(UserError, match="shape"):
        hypervolume([], *UNIT)


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_non_finite_points_are_scored(bad):
    points = np.array([[0.5, bad], [0.5, 0.5]])
    assert HV(ref_point=np.ones(2))(points) >= 0.25
    with pytest.raises(NonFiniteError, match="row 0"):
        hypervolume(points, *UNIT)


def test_one_flat_point_is_taken_for_a_set():
    """A K-vector is read as one point; so is a column of m values of one objective."""
    assert HV(ref_point=np.ones(2))(np.array([0.5, 0.5])) == 0.25
    with pytest.raises(UserError, match="shape"):
        hypervolume([0.5, 0.5], *UNIT)


def test_the_bounds_of_a_front_change_with_the_front():
    points, flat = np.array([[0.5, 0.5]]), np.array([[0.0, 0.2], [0.2, 0.0]])
    assert IGDPlus(flat, zero_to_one=True)(points) > 2 * IGDPlus(flat)(points)
    assert igd_plus(points, flat, *UNIT) == pytest.approx(IGDPlus(flat)(points))
