"""`mobench export RUN`: what a stored run trained, as a file to use elsewhere."""

from __future__ import annotations

from pathlib import Path

from mobench.cli.command import PLUGINS, RESULTS, Command
from mobench.cli.show import RUN
from mobench.core.settings import text
from mobench.errors import UserError, unknown


class Export(Command):
    """Write what a stored run trained, e.g. a compressed network, to a file."""

    name = "export"
    loads = "plugins"
    words = ("run",)
    more = "and what the run's problem takes, e.g. target=0.9: remove this fraction of a network's parameters"
    examples = """
  mobench export 3f2a target=0.9 out=model.pt
  mobench export 3f2a target=0.9 out=model.onnx results=elsewhere
"""

    run: str = RUN
    out: str = text(
        None,
        meaning="where to write; the suffix says in which form (for networks: .pt, .pth, .pt2, .onnx)",
        shown="FILE",
    )
    results: str = RESULTS
    plugins: list[str] = PLUGINS

    def execute(self) -> int:
        self.need("run")
        from mobench.core.registry import load_plugins
        from mobench.store.folder import Store

        load_plugins(self.plugins)
        store = Store(Path(self.results))
        record = store.load(self.run)
        problem = record.spec.build_problem()
        declared = problem.export_options
        for key in self.others:
            if key not in declared:
                raise unknown("key", key, (*self.keys(), *declared))
        options = {
            key: setting.parse(key, self.others[key]) if key in self.others else setting.default
            for key, setting in declared.items()
        }
        self.need("out")
        if record.outcome.status != "done":
            raise UserError(f"run {record.id[:12]} failed and left nothing to export: {record.outcome.reason}")
        tensors, out = store.load_artifact(record.id), Path(self.out)
        try:
            written = problem.export(tensors, record.outcome.metrics, out, options)
        except OSError as error:
            raise UserError(f"out={out} cannot be written: {error}") from error
        print(
            f"run {record.id[:12]}: {record.spec.method} on {record.spec.problem}, seed {record.spec.seed}\n{written}"
        )
        return 0
