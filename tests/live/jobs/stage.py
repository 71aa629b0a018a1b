"""A stage on which jobs are run, and that is left as it was found."""

from pathlib import Path
from typing import Any

from staging.stage import Stage

from fleet.api.fleet import Fleet
from fleet.testing.scene import PROJECT
from fleet.verbs.jobs.begin import JobRequest


class JobStage(Stage):
    """One test's home and repository, with its jobs."""

    def jobs(self, actor: str = "tester") -> Fleet:
        return Fleet.open(self.home, actor=actor)

    def write(self, text: str, name: str = "job.yml") -> str:
        """A job's document, beside the repository."""
        path = Path(self.root, name)
        path.write_text(text, encoding="utf-8")
        return str(path)

    def asked(self, text: str, **how: Any) -> JobRequest:
        return JobRequest(project=PROJECT, file=self.write(text), **how)

    def run(self, text: str, **how: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Run a job to its end: how it stands, and all that was told."""
        events: list[dict[str, Any]] = []
        with self.jobs() as fleet:
            return fleet.jobs.run(self.asked(text, **how), events.append), events

    def resume(self, ident: str) -> dict[str, Any]:
        with self.jobs() as fleet:
            return fleet.jobs.resume(ident, lambda _event: None)

    def items(self, ident: str) -> dict[str, dict[str, Any]]:
        """The items of a job by their label."""
        with self.jobs() as fleet:
            return {each.label: each for each in fleet.jobs.items(ident)}

    def end(self) -> None:
        """Whatever is left of a job is given up before the stage is looked at."""
        for child in self.started:
            with child:
                child.kill()
        with self.jobs("finisher") as fleet:
            for each in fleet.jobs.list():
                if each.state not in {"done", "cancelled"}:
                    fleet.jobs.cancel(each.id, "the test is over")
                if fleet.jobs.dead_items(each.id):
                    fleet.jobs.drop(each.id, (), everything=True)
        super().end()


def states(found: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {label: each.state for label, each in found.items()}
