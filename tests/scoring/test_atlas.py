"""The atlas that ships, asked for the methods of a suite."""

from __future__ import annotations

from mobench.scoring.atlas import same_direction


def test_only_what_is_asked_for_is_related() -> None:
    assert same_direction(["pcgrad", "upgrad", "pcd", "imtlg"], 2) == ((("pcgrad",), ("upgrad",)),)
    assert same_direction(["rlw", "rgw"], 3) == ((("rgw", "rlw"),),)
    assert same_direction(["pcgrad", "upgrad"], 3) == same_direction(["pcgrad", "upgrad"], 4) == ()
    assert same_direction(["cagrad(c=0)", "cagrad"], 2) == (), "one method"
