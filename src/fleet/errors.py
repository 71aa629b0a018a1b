"""Every error fleet raises on purpose.

    FleetError                     1   something failed
    ├── BadInput                   2   what was given cannot be used
    │   ├── BadName                    a slug, project, actor or tag
    │   ├── BadId                      a dispatch id
    │   ├── BadText                    a title, message or description
    │   ├── BadTime                    a time or duration
    │   ├── BadSetting                 a value in fleet.toml or config.toml
    │   ├── BadWorkflow                a job's document
    │   ├── Ambiguous                  several could be meant
    │   ├── NoTask                     an agent's short form without a task
    │   ├── NoProject                  no -p and no project here
    │   ├── NotInThisWorktree          a fleet worktree whose engine stripped the environment
    │   └── ActorIsGiven               --as beside FLEET_DISPATCH_ID
    ├── NotOwned                  10   it belongs to someone else
    ├── Absent                    11
    │   ├── NoSuchTask
    │   ├── NoSuchProject
    │   ├── NoCoordinator
    │   ├── NoSuchJob
    │   ├── NoSuchItem                 a job has none of that id
    │   ├── NoSuchQuestion
    │   └── NoSuchDispatch
    ├── Contested                 12
    │   ├── TaskHeld                   somebody else claimed it
    │   ├── GateHeld
    │   ├── CoordSpawnInProgress
    │   ├── ResumeInProgress
    │   ├── ReplaceInProgress          a candidate is proving itself
    │   ├── TickInProgress
    │   ├── BundleHeld                 somebody works in the task's worktree
    │   ├── WorktreeBusy               a process works in it that is perhaps a dead agent's
    │   ├── ThingHeld                  a thing has one owner
    │   └── StoreBusy                  the writer's lock did not come free in time
    ├── Superseded                13   the caller is no longer the one
    │   ├── AnsweredBefore             the first answer counts
    │   ├── NotSeated                  somebody else coordinates the project
    │   └── SpeakerEnded               its journal is archived
    ├── Refused                   14
    │   ├── IllegalStep                the table of steps has no such step
    │   ├── NotReady                   dependencies, pause or time
    │   ├── NeedsOverride              a live attempt holds the task
    │   ├── OverrideIsForPeople        an agent said --override
    │   ├── NotAllowed                 the speaker's role may not do it
    │   ├── NotTrusted                 settings of a repository that no person has trusted
    │   ├── DependencyCycle
    │   ├── SlugTaken
    │   ├── ProjectTaken
    │   ├── ProjectInUse
    │   ├── NotARepository
    │   ├── BranchBlocked              a branch's name keeps fleet from making its own
    │   ├── EngineMissing              its program is not installed
    │   ├── EngineNotReady             a dialog would stop it
    │   ├── AutonomyRefused            full as root
    │   ├── LimitReached               enough agents already
    │   ├── EngineHeld                 a limit or a login holds it back
    │   ├── CannotAnswer               only at its own terminal
    │   ├── CoordinatorLives           alive or unknown
    │   ├── NotProven                  a new coordinator gave no proof in time
    │   ├── WorktreeRefused            not ours to use, or not whole
    │   ├── NotMergeable               conflict, red verify, nothing to merge
    │   ├── WorkMoved                  the branch is not at the commit that was named
    │   ├── MergesMissing              recorded merges are on no branch any more
    │   ├── NotPulled                  no remote, no program, no answer
    │   ├── OtherHost                  another home's or host's
    │   ├── HomeMoved                  the home is not where it remembers to be
    │   ├── HomeCopied                 one home in two places
    │   ├── NotDisowned                its own home can judge it
    │   ├── NotResumable               alive, unknown, finished or taken over
    │   ├── ForceRefused               whoever holds the lock is not proven to
    │   ├── KeyReused                  one idempotency key for two requests
    │   └── ImportRefused              carries every finding with its line
    ├── JobFailed                  1   a job cannot go on
    ├── ToolError                  1   another program failed
    │   ├── TmuxRefused
    │   └── GitRefused
    └── StoreError                 1
        ├── HomeUnusable
        ├── StoreUnreadable            garbage, truncated, no permission
        ├── StoreForeign               a database, but not fleet's
        ├── StoreNewer                 made by a newer fleet
        ├── StoreGone                  the home had a database, and it is not there
        ├── StoreReplaced              another file has taken its place meanwhile
        ├── StoreMixed                 beside it lie the recent changes of another file
        ├── WriteFailed                disk full, read-only: nothing was changed
        ├── DriverMissing              the postgres extra is not installed
        ├── StoreUnreachable           a server that does not answer
        ├── OutcomeUnknown             it stopped answering in mid-commit
        ├── InvariantBroken            the database refused what the code allowed
        └── EffectInTransaction        the outside was touched while a transaction was open

An error carries facts; its text is built from them; its hint says what to do next.
"""

from __future__ import annotations


class FleetError(Exception):
    """Something failed."""

    code = 1
    kind = "error"
    says = "{what}"
    hint = ""

    def __init__(self, **facts: object) -> None:
        self.facts = facts
        super().__init__(self.says.format(**facts))

    @property
    def next_step(self) -> str:
        """What the reader can do about it."""
        return self.hint.format(**self.facts)

    @property
    def spoken(self) -> str:
        """The error as people read it: what, and what next."""
        said = str(self)
        if not self.next_step:
            return said
        return f"{said}\n{self.next_step}" if "\n" in said else f"{said} — {self.next_step}"

    def as_document(self) -> dict[str, object]:
        """The error as programs read it."""
        head = {"code": self.code, "kind": self.kind, "name": type(self).__name__}
        return {"error": {**self.facts, **head, "message": str(self), "hint": self.next_step}}


class BadInput(FleetError):
    """What was given cannot be used."""

    code = 2
    kind = "usage"


class BadName(BadInput):
    """A name that could not be a file, a branch and an argument at once."""

    says = "{what} {given!r} is not usable: {why}"
    hint = "{advice}"


class BadId(BadInput):
    """Not a dispatch id."""

    says = "{source} {given!r} is not a dispatch id"
    hint = "a dispatch id is 8 lower-case hexadecimal digits, like 3f2a9c01"


class BadText(BadInput):
    """A text that cannot be kept as it is."""

    says = "the {what} {why}"
    hint = "{advice}"


class BadTime(BadInput):
    """Not a time."""

    says = "{given!r} is not {what}"
    hint = "write {forms}"


class BadSetting(BadInput):
    """A setting that cannot be used."""

    says = "{file}:{line}: {why}"
    hint = "{advice}"


class BadWorkflow(BadInput):
    """A job's document that cannot be used."""

    says = "{file}:{line}:{column}: {why}"
    hint = "{advice}"


class Ambiguous(BadInput):
    """Several could be meant."""

    says = "{given!r} could be {candidates}"
    hint = "say more of the id"


class NoTask(BadInput):
    """An agent's short form outside an agent."""

    says = "no task: FLEET_TASK is not set"
    hint = "agents are told their task by fleet; outside one say `fleet task {usage} -p PROJECT`"


class NoProject(BadInput):
    """It is not clear which project is meant."""

    says = "no project: {where} belongs to none that is registered"
    hint = "name one with -p PROJECT, or register this repository with `fleet init`"


class NotInThisWorktree(BadInput):
    """The engine strips the environment that fleet gave it."""

    says = "this is a fleet worktree, but FLEET_DISPATCH_ID is not set: fleet cannot tell which agent is speaking"
    hint = "let the engine pass FLEET_* variables on to the commands it runs"


class ActorIsGiven(BadInput):
    """An agent cannot speak as somebody else."""

    says = "--as {given!r} is refused: FLEET_DISPATCH_ID says this is dispatch {dispatch}"
    hint = "leave --as out"


class NotOwned(FleetError):
    """It belongs to someone else."""

    code = 10
    kind = "not_owned"
    says = "{what} belongs to {owner}"
    hint = "only its owner can let it go"


class Absent(FleetError):
    """It is not there."""

    code = 11
    kind = "absent"
    says = "there is no {what}"


class NoSuchTask(Absent):
    """No such task."""

    says = "project {project!r} has no task {slug!r}"
    hint = "`fleet task list -p {project}` shows what there is"


class NoSuchProject(Absent):
    """No such project."""

    says = "no project is registered as {project!r}"
    hint = "`fleet project list` shows what there is; `fleet project add PATH --name {project}` registers one"


class NoSuchDispatch(Absent):
    """No such dispatch."""

    says = "there is no dispatch {dispatch}"
    hint = "`fleet dispatches list` shows what there is"


class NoCoordinator(Absent):
    """The seat is empty."""

    says = "project {project!r} has no coordinator"
    hint = "start one with `fleet coord start -p {project}`"


class NoSuchJob(Absent):
    """No such job."""

    says = "there is no job {job}"
    hint = "`fleet job list` shows what there is"


class NoSuchItem(Absent):
    """A job has no such item."""

    says = "job {job} has no item {item}"
    hint = "`fleet job show {job} --items` shows what there is"


class NoSuchQuestion(Absent):
    """Nobody asks that."""

    says = "no agent asks {question!r}"
    hint = "`fleet questions` lists what is asked"


class Contested(FleetError):
    """Somebody else has it just now."""

    code = 12
    kind = "contested"


class TaskHeld(Contested):
    """Somebody else claimed the task."""

    says = "task {project}/{slug} is held by {holder}, since {since}"
    hint = "take another: `fleet task ready -p {project}`"


class GateHeld(Contested):
    """Somebody else holds the gate."""

    says = "gate {gate!r} is held by {holder}"
    hint = "wait for it to finish, or attach to what it is starting"


class CoordSpawnInProgress(Contested):
    """One coordinator at a time is spawned."""

    says = (
        'refusing to spawn coord for project "{project}": another coord-spawn is in progress (lock holder: {holder}). '
        'attach to the in-flight coord with "fleet coord attach -p {project}" once it finishes booting'
    )


class ReplaceInProgress(Contested):
    """One change of coordinators at a time."""

    says = "the coordinator of project {project!r} is being replaced: {candidate} has to prove itself"
    hint = "`fleet coord status -p {project}` shows how it goes"


class TickInProgress(Contested):
    """Ticks of one project go one after the other."""

    says = "another tick of project {project!r} is in progress ({holder}); nothing was changed"
    hint = "it does the same work; tick again when it is over"


class ResumeInProgress(Contested):
    """One resume of a piece of work at a time."""

    says = "resume already in progress for {id}"
    hint = "wait for it to finish, or use --force to stop it"

    @property
    def spoken(self) -> str:
        """In three lines."""
        return f"{self}\nlock held by: {self.facts['holder']}\n{self.next_step}"


class BundleHeld(Contested):
    """Somebody works in the task's worktree."""

    says = "the worktree of {project}/{slug} is held by {holder}"
    hint = "wait for it to end, or look at it with `fleet ps`"


class WorktreeBusy(Contested):
    """A process works in the worktree of a dead agent, and may be that agent's."""

    says = "the worktree of {project}/{slug} is not handed on: {who} works in it, and fleet cannot tell whose it is"
    hint = "look at the process; when it is ended, or its directory is elsewhere, try again"


class ThingHeld(Contested):
    """A thing has one owner."""

    says = "{thing} is held by {holder}"
    hint = "`fleet claims list` shows who holds what"


class StoreBusy(Contested):
    """The turn to write did not come in time."""

    says = "the store is busy: {holder} has been writing for more than {seconds:g} s; nothing was changed"
    hint = "try again; if it lasts, see whether that process is stopped"


class Superseded(FleetError):
    """The caller is no longer the one."""

    code = 13
    kind = "superseded"
    says = "{who} no longer has task {project}/{slug}: {now}; nothing was changed"
    hint = "stop working on it"


class NotSeated(Superseded):
    """Only the seat's holder coordinates."""

    says = "{dispatch} does not coordinate project {project!r}: {holder} does; nothing was changed"
    hint = "stop coordinating it"


class SpeakerEnded(Superseded):
    """Its journal is archived: it was proven dead."""

    says = "dispatch {dispatch} has ended and is archived; nothing was changed"
    hint = "stop working"


class AnsweredBefore(Superseded):
    """The first answer counts."""

    says = "question {question} is over: {how}; your answer changed nothing"
    hint = "`fleet questions` lists what is still asked"


class Refused(FleetError):
    """A precondition does not hold."""

    code = 14
    kind = "refused"


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

    says = "worker/{slug} of {project} moved since it was {named}: it was at {then}, and is at {now}"
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


class JobFailed(FleetError):
    """A job cannot go on."""

    says = "job {job}: {why}"
    hint = "{advice}"


class ToolError(FleetError):
    """Another program failed."""


class TmuxRefused(ToolError):
    """tmux did not do it, or did not answer."""

    says = "tmux did not {what}: {why}"
    hint = "`fleet doctor` looks at tmux"


class GitRefused(ToolError):
    """git did not do it, or did not answer."""

    says = "git did not {what}: {why}"
    hint = "look at the repository with git itself"


class StoreError(FleetError):
    """The store cannot be used."""


class HomeUnusable(StoreError):
    """The fleet home cannot be used."""

    says = "the fleet home {path} cannot be used: {why}"
    hint = "set FLEET_HOME to a directory that you own and may write to"


class StoreUnreadable(StoreError):
    """Not a database, or a broken one. It is never overwritten."""

    says = "{path} cannot be read as fleet's database: {why}"
    hint = (
        "it was left as it is; move it away together with its -wal and -shm; a backup from {backups} may take its place"
    )


class StoreForeign(StoreError):
    """A database, but not fleet's."""

    says = "{path} is a database of another program"
    hint = "it was left as it is; move it away, or set FLEET_HOME to another directory"


class StoreNewer(StoreError):
    """The database was made by a newer fleet."""

    says = "{path} has schema {found}; this fleet {program} knows schemas up to {known}"
    hint = "install a newer fleet"


class StoreGone(StoreError):
    """The home remembers that it has a database. An empty one is never made in its place without a person's word."""

    says = "the fleet home {home} has a database ({database}), but {store} is not there"
    hint = (
        "put a backup in its place (docs/how-to/restore-a-backup.md), or put `store` in config.toml right; "
        "`fleet home new-database --reason TEXT` begins with an empty one"
    )


class StoreReplaced(StoreError):
    """The path names another file than the one that this process opened, or none."""

    says = "{path} was {how} while it was in use; nothing more is written, and this process ends"
    hint = "start it again to work with what is there now"


class StoreMixed(StoreError):
    """SQLite would apply the recent changes of the old database to the file that took its place."""

    says = "another file took the place of {path} while {path}-wal is of the old one; nothing was read or written"
    hint = (
        "end whoever has the old one open, move {path}-wal and {path}-shm away "
        "(docs/how-to/restore-a-backup.md), then try again"
    )


class WriteFailed(StoreError):
    """The change could not be written, and was not made."""

    says = "nothing was changed: {path}: {why}"
    hint = "free some space or mend the permissions, then try again"


class DriverMissing(StoreError):
    """The driver of this store is not installed."""

    says = "the store {url} needs the driver psycopg, which is not installed"
    hint = "install fleet with its extra: fleet-agents[postgres]"


class StoreUnreachable(StoreError):
    """The database server does not answer."""

    says = "the store {url} does not answer: {why}"
    hint = "see that the server runs and that `store` in config.toml is right"


class OutcomeUnknown(StoreError):
    """The connection broke in mid-commit, and nobody could be asked what became of it."""

    says = "the store {url} stopped answering while {doing!r} was committed: whether it was done is not known"
    hint = "repeat it with --key {key}, under which it is done once at most"


class InvariantBroken(StoreError):
    """The database refused what the code above it allowed. Nothing was changed."""

    says = "the store refused {doing!r}: {why}"
    hint = "this is a defect of fleet; nothing was changed"


class EffectInTransaction(StoreError):
    """No transaction is ever held over the outside."""

    says = "{effect} was tried while the transaction {why!r} was open"
    hint = "this is a defect of fleet; nothing was changed"
