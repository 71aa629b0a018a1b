"""What fleet does not do, and what to do instead."""

from __future__ import annotations

from fleet.errors.families import Refused


class IllegalStep(Refused):
    """The table of steps has no such step."""

    says = "cannot {event} task {project}/{slug}: it is {status}"
    hint = "{advice}"


class NotReady(Refused):
    """The task waits for something."""

    says = "task {project}/{slug} is not ready: {why}"
    hint = "`fleet task why {slug} -p {project}` explains; a person may claim it all the same with --override"


class NeedsOverride(Refused):
    """A live attempt holds the task."""

    says = "task {project}/{slug} is being worked on by {holder}"
    hint = "--override takes it away from that attempt, whose later reports will be refused"


class OverrideIsForPeople(Refused):
    """Agents take nothing away from each other."""

    says = "--override is for people, and this is dispatch {dispatch}"
    hint = "leave --override out"


class NotAllowed(Refused):
    """The table of roles does not give this act to whoever speaks."""

    says = "{who} may not {what}: {rule}"
    hint = "{instead}"


class NotTrusted(Refused):
    """A repository's settings would run something or raise a freedom, and no person has trusted them."""

    says = "{project}: {settings} in fleet.toml would count, but nobody has trusted that yet"
    hint = "a person looks at it with `fleet trust -p {project}`"


class DependencyCycle(Refused):
    """Tasks that wait for each other."""

    says = "that would make a cycle: {cycle}"
    hint = "leave out one of these dependencies"


class SlugTaken(Refused):
    """Two tasks cannot have one slug."""

    says = "project {project!r} already has a task {slug!r}"
    hint = "choose another with --slug, or change that one with `fleet task edit {slug} -p {project}`"


class ProjectTaken(Refused):
    """Two projects cannot share a name or a repository."""

    says = "{what} is already registered as project {project!r}"
    hint = "`fleet project show {project}` shows it"


class ProjectInUse(Refused):
    """The project still has tasks."""

    says = "project {project!r} still has {tasks}"
    hint = "{advice}"


class NotARepository(Refused):
    """Not a git repository."""

    says = "{path} is not a git repository"
    hint = "run `git init` there, or name another path"


class BranchBlocked(Refused):
    """A branch's name keeps fleet from making its own branches."""

    says = "git could not make the branch {branch} in {path}: {why}"
    hint = "rename that branch with `git branch -m OLD NEW`, then say it again"


class EngineMissing(Refused):
    """The engine's program is not installed."""

    says = "engine {engine!r} needs the program {program!r}, which is not installed"
    hint = "{advice}"


class EngineNotReady(Refused):
    """A dialog at its start would stop the agent."""

    says = "engine {engine!r} would stop at a dialog: {why}"
    hint = "{advice}"


class AutonomyRefused(Refused):
    """The engine cannot be given this much freedom here."""

    says = "autonomy {autonomy!r} is refused for engine {engine!r}: {why}"
    hint = "{advice}"


class LimitReached(Refused):
    """Enough agents are at work."""

    says = "{limit}: {now} of {most}"
    hint = "wait for one to end, or raise {setting} in config.toml"


class EngineHeld(Refused):
    """Starting an agent now would only hit the same wall."""

    says = "engine {engine!r} is held back: {reason}"
    hint = "{advice}"


class CannotAnswer(Refused):
    """The engine takes answers at its own terminal only."""

    says = "{agent} asks on its screen only: {question}"
    hint = "answer it there: `fleet attach {agent}`"


class CoordinatorLives(Refused):
    """A coordinator that is alive, or may be, vetoes another."""

    says = "project {project!r} has a coordinator that is {life}: {dispatch} on {host}, tmux socket {socket}"
    hint = "{advice}"


class NotProven(Refused):
    """The new coordinator was withdrawn; the old one goes on."""

    says = "ownership not proven: the new coordinator {dispatch} of project {project!r} gave no proof within {seconds:g} s ({why})"
    hint = "the old one goes on undisturbed; `fleet logs {dispatch}` shows what the new one did"


class WorktreeRefused(Refused):
    """A worktree or branch that fleet will not use."""

    says = "{path} is not used: {why}"
    hint = "{advice}"


class NotMergeable(Refused):
    """The work cannot be merged as it is."""

    says = "{project}/{slug} was not merged: {why}"
    hint = "{advice}"


class WorkMoved(Refused):
    """The branch is not at the commit that was reported or reviewed."""

    says = "{branch} of {project} moved since it was {named}: it was at {then}, and is at {now}"
    hint = (
        "see what is new with `fleet review {slug} -p {project}`, then accept what you saw: "
        "`fleet review {slug} -p {project} --accept --commit {now}`"
    )


class MergesMissing(Refused):
    """Recorded merges are on no branch any more."""

    says = "{integration} of {project} has lost work that was merged and did not land: {slugs}"
    hint = (
        "`fleet merges restore -p {project}` puts it back; if it is meant to be gone, "
        "say `fleet merges acknowledge -p {project} --reason TEXT`"
    )


class NotPulled(Refused):
    """The work has no pull request, and got none."""

    says = "{project}/{slug} has no pull request: {why}"
    hint = "{advice}"


class OtherHost(Refused):
    """Only the home that made a thing judges and touches it."""

    says = "{what} belongs to {made}, and this is {here}"
    hint = (
        "act there; if that home or machine is no more, `fleet dispatches disown {dispatch} --reason TEXT` ends it and "
        "keeps its work"
    )


class NotDisowned(Refused):
    """A dispatch that can be judged is not given up on somebody's word."""

    says = "{dispatch} is not disowned: {why}"
    hint = "{advice}"


class NotSettled(Refused):
    """A dispatch ends only with its death proven."""

    says = "{dispatch} is not settled: {why}"
    hint = "`fleet stop {dispatch}` ends an agent that lives"


class NotExcused(Refused):
    """A process that keeps no worktree, or is proven to be the agent's, needs nobody's word."""

    says = "process {pid} is not excused from {dispatch}: {why}; nothing was changed"
    hint = "`fleet clean` says who keeps a worktree"


class HomeMoved(Refused):
    """Paths in the store and in git still name the old place."""

    says = "the fleet home {path} was moved: it was made at {was}; nothing is judged or changed before it is repaired"
    hint = "`fleet home repair` shows what it would do; or move the home back"


class HomeCopied(Refused):
    """One home in two places: whatever one of them judges may be the other's."""

    says = "{path} is {how} the fleet home {was}; only that one is used, and nothing was changed"
    hint = "set FLEET_HOME={was}, or to a new directory"


class NotResumable(Refused):
    """There is nothing to resume."""

    says = "{dispatch} cannot be resumed: {why}"
    hint = "{advice}"


class ForceRefused(Refused):
    """Only a process that is proven to hold the lock is stopped."""

    says = "the resume of {id} is held by {holder}, which is not stopped: {why}"
    hint = "wait for it to finish, or end it yourself where it runs"


class KeyReused(Refused):
    """One idempotency key was used for two different requests."""

    says = "the key {key!r} was used before for another request: {why}"
    hint = "use a new key for each request, and the same one only to repeat it"


class ImportRefused(Refused):
    """The file was not taken in, and nothing was changed."""

    says = "nothing was imported: {told}"
    hint = "mend these lines and import the file again"
