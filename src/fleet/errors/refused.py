"""Errors for requests that fleet refuses because a precondition does not hold, with the way out in the hint."""

from __future__ import annotations

from fleet.errors.families import Refused


class IllegalStep(Refused):
    """The task's status or stage does not allow the step."""

    says = "cannot {event} task {project}/{slug}: it is {status}"
    hint = "{advice}"


class NotReady(Refused):
    """The task cannot be claimed: it waits for a dependency, the end of a pause, a time, or the merge of its work."""

    says = "task {project}/{slug} is not ready: {why}"
    hint = "`fleet task why {slug} -p {project}` explains; a person can claim it anyway with --override"


class OnlyAdded(Refused):
    """A task was added for a new agent, and no agent could be started on it."""

    says = "task {project}/{slug} was added, but no agent was started: {why}"
    hint = "`fleet dispatch {slug} -p {project}` starts one"


class NeedsOverride(Refused):
    """Somebody else works on the task, so that a person needs --override to change it."""

    says = "task {project}/{slug} is being worked on by {holder}"
    hint = "--override takes it away from that attempt, whose later reports will be refused"


class OverrideIsForPeople(Refused):
    """An agent used --override; agents may not take tasks from each other."""

    says = "--override is for people, and this is dispatch {dispatch}"
    hint = "leave --override out"


class NotAllowed(Refused):
    """The role of the caller does not permit this act."""

    says = "{who} may not {what}: {rule}"
    hint = "{instead}"


class NotTrusted(Refused):
    """The repository's settings run a command or widen what agents may do, and no person has trusted them."""

    says = "{project}: fleet.toml sets {settings}, and no person has trusted that yet"
    hint = "a person reviews and trusts it with `fleet trust -p {project}`"


class DependencyCycle(Refused):
    """The new dependency would make tasks wait for each other in a circle."""

    says = "that would make a cycle: {cycle}"
    hint = "leave out one of these dependencies"


class SlugTaken(Refused):
    """The project already has a task with this slug, or a list gives the slug to two tasks."""

    says = "project {project!r} already has a task {slug!r}"
    hint = "choose another with --slug, or change that one with `fleet task edit {slug} -p {project}`"


class ProjectTaken(Refused):
    """The name belongs to a project with another repository, or the repository is registered under another name."""

    says = "{what} is already registered as project {project!r}"
    hint = "`fleet project show {project}` shows it"


class ProjectInUse(Refused):
    """The project cannot be removed: it still has tasks, dispatches, processes of jobs, or a merge tree."""

    says = "project {project!r} still has {tasks}"
    hint = "{advice}"


class NotARepository(Refused):
    """The path is not a git repository."""

    says = "{path} is not a git repository"
    hint = "run `git init` there, or name another path"


class BareRepository(Refused):
    """The repository has no checkout: there is no place for fleet.toml, and no branch to land work on."""

    says = "{path} is a bare repository, without a checkout; nothing was written there"
    hint = (
        "clone it, and run `fleet up` in the clone; if it has a checkout, `git config core.bare false` there repairs it"
    )


class BranchBlocked(Refused):
    """The name of an existing branch prevents git from creating fleet's branch."""

    says = "git could not make the branch {branch} in {path}: {why}"
    hint = "rename that branch with `git branch -m OLD NEW`, then repeat the command"


class NoCommit(Refused):
    """The target branch has no commit, so no agent has anything to start from."""

    says = "{branch} of {path} has no commit yet, and agents start from a commit"
    hint = "make a first commit there"


class NoUnitSystem(Refused):
    """Neither systemd nor launchd starts anything for this user here."""

    says = "the system cannot start the daemon: {why}"


class DetachedHead(Refused):
    """The checkout is on no branch, and no target branch is set or was chosen before."""

    says = "HEAD of {path} is detached, so the target branch is not known"
    hint = "check out a branch there, or set target in fleet.toml"


class TargetGone(Refused):
    """The branch that was chosen as the target does not exist any more; fleet chooses no other one by itself."""

    says = "the target {branch} of {path} is gone"
    hint = "`fleet up --target BRANCH` chooses another; `git branch {branch} COMMIT` puts it back"


class BranchInUse(Refused):
    """The integration branch is checked out, or a rebase or bisect uses it, so that fleet cannot move it."""

    says = "{why}"
    hint = "check out another branch there, then try again"


class SetupFails(Refused):
    """The newest worktree could not be set up, so that every agent of the project would fail the same way."""

    says = "the worktree of {dispatch} could not be set up ({at}): {why}"
    hint = "mend it, then run `fleet task retry SLUG -p {project}` for each task that failed because of it"


class Uncoordinated(Refused):
    """Nobody starts the ready tasks: the coordinator of the project is dead or was stopped."""

    says = "{what}"
    hint = "`fleet up` in the repository starts another"


class NotWoken(Refused):
    """The agent that coordinates the project does not learn of changes, because nothing can wake it."""

    says = "its coordinator {holder} cannot be woken: {why}"
    hint = "`fleet attach {holder}` joins it; `fleet up` in the repository starts what wakes it"


class EngineMissing(Refused):
    """The engine has no program to start: it is not installed, no command was given, or it needs a terminal."""

    says = "engine {engine!r} needs the program {program!r}, which is not installed"
    hint = "{advice}"


class EngineNotReady(Refused):
    """The engine would show a dialog at its start and wait there."""

    says = "engine {engine!r} would stop at a dialog: {why}"
    hint = "{advice}"


class VariablesMissing(Refused):
    """Agents of the engine would lack environment variables that they should get. The message has only their names."""

    says = "agents on {engine} lack {names}: not set where fleet takes their environment from"
    hint = "export it and run `fleet up`, or write it into the file that the setting environment.file names"


class AutonomyRefused(Refused):
    """The engine cannot run at this autonomy level here."""

    says = "autonomy {autonomy!r} is refused for engine {engine!r}: {why}"
    hint = "{advice}"


class SandboxRefused(Refused):
    """The sandbox in the settings cannot be set up on this machine."""

    says = "agents are to be started in a sandbox (agents.sandbox), which cannot be made here: {why}"
    hint = "{advice}"


class NoAgentsDoor(Refused):
    """The settings let agents reach fleet only by the daemon's socket, and no daemon listens there."""

    says = "agents are to reach fleet by its daemon alone (agents.door, agents.sandbox), and none listens at {path}"
    hint = "start it with `fleet daemon start`"


class LimitReached(Refused):
    """The configured number of agents is already running."""

    says = "{limit}: {now} of {most}"
    hint = "wait for one to end, or raise {setting} in config.toml"


class NoPortsLeft(Refused):
    """Every block of ports belongs to a worktree."""

    says = "no block of {size} ports is free from port {first} on: {taken} worktrees have one"
    hint = "remove worktrees with `fleet clean`, or set a lower ports.block or ports.first in config.toml"


class OverBudget(Refused):
    """A budget of a task, a project or a day is spent, so no agent is started there."""

    says = "the budget of {scope} {which} is spent: {spent} of {allowed} ({setting})"
    hint = "`{way}` allows more"


class EngineHeld(Refused):
    """No agent may start on the engine: a usage limit or a missing login holds it back, or one agent is trying it."""

    says = "engine {engine!r} is held back: {reason}"
    hint = "{advice}"


class CannotAnswer(Refused):
    """The engine takes the answer only at the agent's own terminal."""

    says = "{agent} asks on its screen only: {question}"
    hint = "answer it there: `fleet attach {agent}`"


class CoordinatorLives(Refused):
    """The project has a coordinator that is alive, or that may be alive."""

    says = "project {project!r} has a coordinator that is {life}: {dispatch} on {host}, tmux socket {socket}"
    hint = "{advice}"


class NoTerminal(Refused):
    """A coordinator inside the daemon has no terminal to attach to."""

    says = "coordinator {dispatch} has no terminal: it is a duty of the daemon"
    hint = "`fleet logs {dispatch} --follow` shows what it does; `fleet coord status` shows where it runs"


class NotProven(Refused):
    """The new coordinator gave no proof in time and was withdrawn; the old coordinator continues."""

    says = "ownership not proven: the new coordinator {dispatch} of project {project!r} gave no proof within {seconds:g} s ({why})"
    hint = "the old coordinator continues; `fleet logs {dispatch}` shows what the new one did"


class WorktreeRefused(Refused):
    """A worktree or branch that fleet does not use: it is foreign, incomplete or unknown, or its path is taken."""

    says = "{path} is not used: {why}"
    hint = "{advice}"


class ForeignBranch(WorktreeRefused):
    """The branch that a task needs exists already, and no proof says that this project's agents made it."""


class SubmoduleMissing(Refused):
    """A submodule of a new worktree cannot be checked out at the commit that the worktree records."""

    says = "submodule {path} cannot be checked out at {commit}: {why}"
    hint = "fetch or push that commit, so that your checkout's submodule or its remote has it; or set worktree.submodules = 'none'"


class NotMergeable(Refused):
    """The task's work cannot be merged, for example because of a conflict, a missing branch or an untrusted command."""

    says = "{project}/{slug} was not merged: {why}"
    hint = "{advice}"


class NotVerified(NotMergeable):
    """The merged files could not be set up, or the verify command failed on them or changed them."""


class UncommittedWork(Refused):
    """An agent reported its task as done, but its worktree has uncommitted changes."""

    says = "{project}/{slug} is not reported as done: its worktree has uncommitted changes: {files}"
    hint = (
        "commit what belongs to the task, then say `fleet done` again; if these changes are not to be committed, "
        "say why: `fleet done --leave-uncommitted REASON`"
    )


class WorkMoved(Refused):
    """The task's branch is not at the commit that was reported or accepted, or that the reviewer looked at."""

    says = "{branch} of {project} moved since it was {named}: it was at {then}, and is at {now}"
    hint = (
        "see what is new with `fleet review {slug} -p {project}`, then accept what you saw: "
        "`fleet review {slug} -p {project} --accept --commit {now}`"
    )


class MergesMissing(Refused):
    """Commits of recorded merges are not on the integration branch any more."""

    says = "{integration} of {project} has lost work that was merged and did not land: {slugs}"
    hint = (
        "`fleet merges restore -p {project}` puts it back; if it was removed on purpose, "
        "run `fleet merges acknowledge -p {project} --reason TEXT`"
    )


class NotPulled(Refused):
    """The pull request for the task could not be opened or brought up to date, or none was opened yet."""

    says = "{project}/{slug} has no pull request: {why}"
    hint = "{advice}"


class OtherHost(Refused):
    """The thing was made by another home or host, and only that home or host may act on it."""

    says = "{what} belongs to {made}, and this is {here}"
    hint = (
        "run the command there; if that home or machine no longer exists, `fleet dispatches disown {dispatch} --reason TEXT` ends it and "
        "keeps its work"
    )


class MeantElsewhere(OtherHost):
    """The caller named a host or a tmux socket that is not the one of this home."""

    says = "{what} is meant for {made}, and this is {here}"
    hint = "call the fleet that is there, or name no host and no socket"


class SeatKept(Refused):
    """No release empties a coordinator's seat: only `fleet coord stop` and `fleet coord replace` do."""

    says = "coordinator {dispatch} is in the seat of project {project!r}, and no release empties it"
    hint = "`fleet coord stop -p {project}` ends the coordinator, `fleet coord replace -p {project}` puts another in its place"


class NotDisowned(Refused):
    """The dispatch or job cannot be disowned: its home is this one or on this machine, or its agent is alive here."""

    says = "{dispatch} is not disowned: {why}"
    hint = "{advice}"


class NotSettled(Refused):
    """The dispatch cannot be settled, because its agent is not proven dead."""

    says = "{dispatch} is not settled: {why}"
    hint = "`fleet stop {dispatch}` ends an agent that lives"


class NotExcused(Refused):
    """The process cannot be excused: it keeps no worktree busy, or it is proven to belong to the agent."""

    says = "process {pid} is not excused from {dispatch}: {why}; nothing was changed"
    hint = "`fleet clean` says who keeps a worktree"


class HomeMoved(Refused):
    """The home is not at the path that it recorded; the store and git still name the old path."""

    says = "the fleet home {path} was moved: it was made at {was}; fleet changes nothing until it is repaired"
    hint = "`fleet home repair` shows what it would do; or move the home back"


class HomeCopied(Refused):
    """The path is a copy of the home, or another name of it: fleet acts only at the path that the home recorded."""

    says = "{path} is {how} the fleet home {was}; only that one is used, and nothing was changed"
    hint = "set FLEET_HOME={was}, or to a new directory"


class NotResumable(Refused):
    """The dispatch cannot be resumed: it is alive, unknown, finished, taken over, or of a job or another home."""

    says = "{dispatch} cannot be resumed: {why}"
    hint = "{advice}"


class ForceRefused(Refused):
    """`--force` stops no process: the process that holds the resume lock is unknown, or may not be stopped."""

    says = "the resume of {id} is held by {holder}, which is not stopped: {why}"
    hint = "wait for it to finish, or end it yourself where it runs"


class KeyReused(Refused):
    """The idempotency key was used before for a different request."""

    says = "the key {key!r} was used before for another request: {why}"
    hint = "use a new key for each request, and the same one only to repeat it"


class ImportRefused(Refused):
    """The file or list was not imported, because lines of it have faults; nothing was changed."""

    says = "nothing was imported: {told}"
    hint = "fix these lines and import the file again"
