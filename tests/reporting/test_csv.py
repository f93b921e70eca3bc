"""Tables as CSV, whole or piece by piece."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mobench.reporting import csv
from mobench.reporting.csv import csv_text, write_csv


@pytest.mark.parametrize("rows", [0, 1, 4, 5])
def test_a_table_in_pieces_is_the_table(rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mixed = [1, None, "=1+1", 2.5, [1, 2]]
    numbers = np.array([0.1, np.nan, 1e300, 3.0, -0.0])
    table = pd.DataFrame({"=name": mixed, "x": numbers, "n": range(5), "yes": [True, False] * 2 + [True]}).iloc[:rows]
    whole = csv_text(table)
    assert whole.startswith("'=name,x,n,yes\n") and whole.count("\n") == rows + 1
    assert ("'=1+1" in whole) == (rows > 2)
    monkeypatch.setattr(csv, "CHUNK", 2)
    write_csv(table, tmp_path / "table.csv")
    assert (tmp_path / "table.csv").read_bytes() == whole.encode()
    write_csv(table, text := io.StringIO())
    assert text.getvalue() == whole
