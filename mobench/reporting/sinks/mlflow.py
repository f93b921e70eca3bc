"""Finished runs in MLflow: an experiment per suite and profile, a run per run, tagged `mobench.id`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from mobench.errors import UserError
from mobench.reporting.sinks.base import Sink, curves, missing_extra, parameters
from mobench.store.record import RunRecord

TAG = "mobench.id"
BATCH = 1000
"""MLflow takes so many metrics at once, and a tenth as many parameters."""


class MlflowSink(Sink):
    """A tracking server, a database or a folder. A run that was left unfinished there is deleted and written anew."""

    def __init__(self, uri: str) -> None:
        try:
            from mlflow import MlflowClient
        except ImportError as error:
            raise missing_extra("mlflow", error) from error
        try:
            self._client = MlflowClient(tracking_uri=uri)
            self._experiments = {found.name: found.experiment_id for found in self._client.search_experiments()}
            self._known = self._finished()
        except Exception as error:
            raise UserError(f"mlflow={uri} cannot be used: {type(error).__name__}: {error}") from error

    def has(self, id_: str) -> bool:
        return id_ in self._known

    def add(self, record: RunRecord, suite: str) -> None:
        from mlflow.entities import Metric, Param

        name = f"mobench {suite}"
        if name not in self._experiments:
            self._experiments[name] = self._client.create_experiment(name)
        begun, ended = (_milliseconds(moment) for moment in (record.started, record.finished))
        tags = {TAG: record.id, "mlflow.source.name": "mobench"}
        label = f"{record.spec.method} {record.spec.problem} seed {record.spec.seed}"
        run = self._client.create_run(self._experiments[name], start_time=begun, tags=tags, run_name=label).info.run_id
        settings = [Param(key, str(value)) for key, value in parameters(record).items()]
        for start in range(0, len(settings), BATCH // 10):
            self._client.log_batch(run, params=settings[start : start + BATCH // 10])
        points = [Metric(f"curves/{_name(curve)}", value, ended, step) for curve, step, value in curves(record)]
        points += [Metric(_name(metric), value, ended, 0) for metric, value in record.outcome.metrics.items()]
        for start in range(0, len(points), BATCH):
            self._client.log_batch(run, metrics=points[start : start + BATCH])
        self._client.set_terminated(run, "FINISHED", end_time=ended)
        self._known.add(record.id)

    def _finished(self) -> set[str]:
        """Return the ids of runs that are there, and delete unfinished ones."""
        known: set[str] = set()
        ours = [id_ for name, id_ in self._experiments.items() if name.startswith("mobench ")]
        page: Any = None
        while ours:
            page = self._client.search_runs(ours, page_token=page.token if page else None)
            for run in page:
                if run.info.status == "FINISHED":
                    known.add(run.data.tags.get(TAG, ""))
                else:
                    self._client.delete_run(run.info.run_id)
            if not page.token:
                break
        return known


def _name(metric: str) -> str:
    """Return a metric's name with the characters that MLflow takes."""
    return "".join(sign if sign.isalnum() or sign in "_-. /" else "_" for sign in metric)


def _milliseconds(moment: str) -> int:
    return int(1000 * datetime.fromisoformat(moment).timestamp())
