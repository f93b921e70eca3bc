"""The fixed split: a partition, in proportion, independent of any run's seed."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mobench.problems.compression.data.split import stratified_order, stratified_split

labellings = st.lists(st.integers(0, 4), min_size=1, max_size=200).map(torch.tensor)


@settings(max_examples=30)
@given(labellings)
def test_the_order_is_a_permutation(labels: torch.Tensor) -> None:
    assert stratified_order(labels).sort().values.tolist() == list(range(len(labels)))


@settings(max_examples=30)
@given(labellings, st.data())
def test_every_prefix_holds_the_classes_in_proportion(labels: torch.Tensor, data: st.DataObject) -> None:
    size = data.draw(st.integers(0, len(labels)))
    counts = torch.bincount(labels).double()
    held = torch.bincount(labels[stratified_order(labels)[:size]], minlength=len(counts)).double()
    assert ((held - counts * size / len(labels)).abs() < 1 + 1e-9).all()


def test_parts_have_the_asked_sizes_and_share_nothing() -> None:
    labels = torch.arange(100) % 7
    one, two, rest = stratified_split(labels, 20, 30)
    assert [len(part) for part in (one, two, rest)] == [20, 30, 50]
    assert sorted([*one.tolist(), *two.tolist(), *rest.tolist()]) == list(range(100))
    assert all(part.tolist() == sorted(part.tolist()) for part in (one, two, rest))


def test_equal_classes_are_held_out_equally() -> None:
    labels = torch.arange(50_000) % 100
    held_out, _ = stratified_split(labels, 5_000)
    assert torch.bincount(labels[held_out]).tolist() == [50] * 100


def test_the_split_ignores_the_global_random_state() -> None:
    labels = torch.arange(1_000) % 10
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    first = stratified_order(labels)
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.manual_seed(2)
    assert torch.equal(first, stratified_order(labels))


def test_the_split_is_frozen() -> None:
    held_out, _ = stratified_split(torch.arange(50_000) % 10, 5_000)
    assert held_out[:8].tolist() == [7, 19, 33, 49, 52, 64, 91, 104]
