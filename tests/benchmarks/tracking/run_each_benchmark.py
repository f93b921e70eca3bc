"""Call every benchmark of a folder with its first and last combination of parameters; print asv's names as JSON.

Nothing is measured: kernels are not warmed up, of benchmarks of one class whose code is the same, such as
`time_build` and `peakmem_build`, the first is called, and the site that several benchmarks build is built once.

python run_each_benchmark.py BENCHMARK_DIR
"""

from __future__ import annotations

import importlib
import itertools
import json
import sys
from functools import cache
from pathlib import Path

from asv_runner.discovery import disc_benchmarks, update_sys_path

if __name__ == "__main__":
    root = sys.argv[1]
    update_sys_path(root)
    kernels = importlib.import_module(f"{Path(root).name}.kernels")
    kernels.WARM_CALLS = 0
    site = importlib.import_module(f"{Path(root).name}.kernels.site")
    site.build_site = cache(site.build_site)
    called: dict[str, list[object]] = {}
    same: dict[object, str] = {}
    for benchmark in disc_benchmarks(root):
        combinations = list(itertools.product(*benchmark._params)) if benchmark._params else [()]
        ends = combinations if len(combinations) < 2 else [combinations[0], combinations[-1]]
        code = benchmark.func.__code__
        first = same.setdefault(
            (benchmark.func.__self__.__class__, code.co_code, code.co_names, code.co_consts), benchmark.name
        )
        called[benchmark.name] = called.get(first) or [benchmark.func(*combination) for combination in ends]
    print(json.dumps(called))
