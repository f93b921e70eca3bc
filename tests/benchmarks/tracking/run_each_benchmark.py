"""Call every benchmark of a folder with its first and last combination of parameters; print asv's names as JSON.

python run_each_benchmark.py BENCHMARK_DIR
"""

from __future__ import annotations

import itertools
import json
import sys

from asv_runner.discovery import disc_benchmarks, update_sys_path

if __name__ == "__main__":
    root = sys.argv[1]
    update_sys_path(root)
    called = {}
    for benchmark in disc_benchmarks(root):
        combinations = list(itertools.product(*benchmark._params)) if benchmark._params else [()]
        ends = combinations if len(combinations) < 2 else [combinations[0], combinations[-1]]
        called[benchmark.name] = [benchmark.func(*combination) for combination in ends]
    print(json.dumps(called))
