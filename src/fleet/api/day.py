"""What a person does all day: add a list, look at everything, review, open pull requests, begin and end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.api.coordinating import ENGINE
from fleet.api.permits import refuse_running
from fleet.api.resuming import Resuming
from fleet.errors.given import BadSetting
from fleet.errors.refused import CoordinatorLives, NotTrusted
from fleet.model.agents.dialect import clean
from fleet.model.branches import task_ref
from fleet.model.tasks.comments import with_lines
from fleet.verbs.dispatch.apply_remedy import settle_attempt
from fleet.verbs.dispatch.plan import Wanted
from fleet.verbs.merge import named_commit, rehearse
from fleet.verbs.merge import pull_requests as pull
from fleet.verbs.projects import configure, remote_control, trust
from fleet.verbs.tasks import add_list, review, show
from fleet.verbs.views import obstacles, recap

if TYPE_CHECKING:
    from fleet.model.tasks.markdown_list import Item

Document = dict[str, Any]


class Day(Resuming):
    """The person's day."""

    def add_list(
        self,
        items: list[Item],
        *,
        project: str,
        name: str,
        dry: bool = False,
        key: str | None = None,
        **fields: Any,  # noqa: ANN401 - those of NewTask
    ) -> Document:
        """Add every item of a list, all or nothing; or only say what would be added."""
        refuse_running(self.may("add_list", project=project), "add_list", fields)
        like = self.new_task(project, "", fields)
        if dry:
            return {"project": project, "tasks": self.store.read(lambda rows: add_list.planned(rows, items, like))}
        return self.commit(add_list.add_list(items, like, name=name), key)

    # looking ----------------------------------------------------------------------------------------------------------
    def recap(self, *, since: int, project: str | None = None) -> Document:
        """What happened since a time, everywhere or in one project."""
        now = self.clock.now()
        if project is not None:
            self.view.project(project)
        return self.store.read(lambda rows: recap.recap(rows, since=since, now=now, project=project))

    # reviewing --------------------------------------------------------------------------------------------------------
    def to_review(self, project: str | None = None) -> list[Document]:
        """What waits for a person's verdict."""
        found = self.store.read(review.waiting)
        mine = [each for each in found if project in {None, each["project"]}]
        return [each for each in mine if each["status"] == "blocked" or self._is_a_persons(each["project"])]

    def _is_a_persons(self, project: str) -> bool:
        try:
            return bool(self.settings(project)["review"].value != "agent")
        except BadSetting:  # whoever mends fleet.toml may review as well
            return True

    def work_of(self, *, project: str, slug: str) -> Document:
        """A task's work as a reviewer looks at it: what was asked for, what the agent said, what it changed."""
        now = self.clock.now()
        task = self.store.read(lambda rows: show.show(rows, project, slug, now))
        keep = ("project", "slug", "title", "description", "status", "stage", "assignee", "log", "artifacts")
        said = self.store.read(lambda rows: review.verdicts(rows, project, slug))
        work = named_commit.reviewed_work(self.ground, project, slug)
        return {name: task[name] for name in keep} | {"verdicts": said} | work

    def rehearse(self, *, project: str, slug: str) -> Document:
        """Try whether the work merges and passes its verify command; the result is kept in the task's log."""
        self.may("rehearse", project=project)
        found = rehearse.rehearse(self.ground, project, slug)
        self.log(project=project, slug=slug, message=clean(f"tried before the review: {found['says'].strip()}"))
        return found

    def judge(
        self,
        *,
        project: str,
        slug: str,
        verdict: str,
        comments: str = "",
        commit: str | None = None,
        key: str | None = None,
    ) -> Document:
        """Accept a task's work, or send it back with comments. `commit` is what the reviewer looked at, else what was reported."""
        self.may("judge", project=project)
        settle_attempt(self.ground, project, slug, speaker=self.speaker)
        accept = verdict == review.ACCEPT
        work = named_commit.judged_commit(self.ground, project, slug, accept=accept, seen=commit)
        told = with_lines(comments, lambda file, line: self._line_of(project, slug, file, line)) if comments else ""
        return self.commit(review.judge(project=project, slug=slug, verdict=verdict, comments=told, work=work), key)

    def _line_of(self, project: str, slug: str, file: str, line: int) -> str | None:
        """One line of the work."""
        repository = self.ground.project(project)["path"]
        text = self.world.git.file_at(repository, task_ref(slug), file)
        lines = (text or "").splitlines()
        return lines[line - 1] if 0 < line <= len(lines) else None

    # pull requests ----------------------------------------------------------------------------------------------------
    def pull(self, *, project: str, slug: str) -> Document:
        """Push a task's branch and open its pull request."""
        self.may("pull")
        settle_attempt(self.ground, project, slug, speaker=self.speaker)
        return pull.pull(self.ground, project, slug)

    def check_pull(self, *, project: str, slug: str) -> Document:
        """How far a task's pull request is; merged, the task is done."""
        self.may("check_pull", project=project)
        return pull.check(self.ground, project, slug)

    def tend_pulls(self, *, project: str) -> list[Document]:
        """Open and look at all pull requests of a project."""
        self.may("tend_pulls", project=project)
        return pull.tend(self.ground, project)

    # trust ------------------------------------------------------------------------------------------------------------
    def untrusted(self, project: str) -> Document:
        """What of the project's fleet.toml waits for a person's trust."""
        return trust.pending(self.ground, project)

    def trust(self, project: str, values: dict[str, Any]) -> Document:
        """Trust these values of the project's settings, as `untrusted` showed them."""
        self.may("trust")
        return trust.trust(self.ground, project, values)

    # beginning --------------------------------------------------------------------------------------------------------
    def begin(self, project: str, wanted: dict[str, str]) -> Document:
        """Write these settings into the project's fleet.toml, and start its coordinator. What is so already stays as it is."""
        self.may("begin")
        self.engine(wanted["engine"])
        written = configure.configure(self.ground, project, wanted)
        trust.trust_written(self.ground, project, wanted)
        seat = self.coordinator(project)
        agent = Wanted(project=project, slug="", engine=wanted["engine"], autonomy=wanted["autonomy"])
        waiting = [each["name"] for each in self.untrusted(project)["changes"]]
        warnings = [str(NotTrusted(project=project, settings=", ".join(waiting)))] if waiting else []
        warnings += [why] if (why := obstacles.unstartable(self.ground, agent)) else []
        lives = seat["state"] in {"alive", "starting", "unknown"}
        if not lives:
            try:
                seat = self.coord_spawn(Wanted(project=project, slug=None, kind="coord", engine=ENGINE))
            except CoordinatorLives as error:  # somebody else was faster
                lives, seat = True, {"id": error.facts["dispatch"]}
            warnings += seat.get("warnings", [])
        ident = seat.get("id") or seat.get("holder")
        return {"written": written, "coordinator": ident, "started": not lives, "warnings": warnings}

    def remote_control(self, project: str, to: str | None = None, *, key: str | None = None) -> Document:
        """Whether the project's coordinator may be controlled from afar; said anew, if wanted."""
        if to is None:
            return self.store.read(lambda rows: remote_control.look(rows, project))
        self.may("remote_control")
        return self.commit(remote_control.set_remote_control(project=project, to=to), key)
