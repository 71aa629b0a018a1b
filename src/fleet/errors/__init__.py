"""Every error fleet raises on purpose.

    FleetError                     1   something failed
    ├── BadInput                   2   an argument, setting or file cannot be used
    │   ├── BadName                    a slug, project, actor or tag
    │   ├── BadId                      a dispatch id
    │   ├── BadText                    a title, message or description
    │   ├── BadTime                    a time or duration
    │   ├── BadSetting                 a value in fleet.toml or config.toml
    │   ├── BadWorkflow                a job's document
    │   ├── Ambiguous                  a short form that fits several things
    │   ├── NoTask                     an agent's short command without a task
    │   ├── BadUsage                   the words of a command do not fit its usage
    │   ├── NoProject                  no -p and no project here
    │   ├── BadRequest                 the daemon does not understand a request
    │   ├── NotInThisWorktree          a fleet worktree whose engine stripped the environment
    │   └── ActorIsGiven               --as together with FLEET_DISPATCH_ID
    ├── NotOwned                  10   the thing belongs to someone else
    │   ├── LeftAlone                  not ours, or nobody can tell: not released
    │   ├── ForeignUnit                a file that fleet did not write is where the daemon's unit belongs
    │   ├── WrongToken                 a request for a dispatch without that dispatch's token
    │   └── OnlyForAgents              a request at the agents' socket that names no dispatch
    ├── Absent                    11   the thing does not exist
    │   ├── NoSuchTask
    │   ├── NoSuchProject
    │   ├── SessionUnseen              tmux does not show the session of a running agent
    │   ├── NoCoordinator
    │   ├── NoSuchJob
    │   ├── NoSuchItem                 a job has no item of that id
    │   ├── NoSuchQuestion
    │   ├── NoDaemon                   no daemon serves the home
    │   └── NoSuchDispatch
    ├── Contested                 12   somebody else holds the thing at the moment
    │   ├── TaskHeld                   somebody else has claimed the task
    │   ├── GateHeld
    │   ├── CoordSpawnInProgress
    │   ├── ResumeInProgress
    │   ├── ReplaceInProgress          a new coordinator is proving itself
    │   ├── TickInProgress
    │   ├── DaemonRuns                 another daemon serves the home
    │   ├── DaemonSilent               a daemon serves the home, and does not answer
    │   │   └── SocketHidden           a foreign file is where its socket belongs
    │   ├── BundleHeld                 another dispatch owns the task's worktree
    │   ├── WorktreeBusy               a process in the worktree may belong to a dead agent
    │   ├── ThingHeld                  another dispatch holds the claim
    │   ├── BeingMerged                the merge of the task is being published
    │   └── StoreBusy                  the writer lock did not become free in time
    ├── Superseded                13   the caller has lost the task or the seat
    │   ├── AnsweredBefore             the first answer counts
    │   ├── NotSeated                  somebody else coordinates the project
    │   ├── VerdictTooLate             another verdict came first; the comments are kept
    │   └── SpeakerEnded               the calling dispatch has ended and is archived
    ├── Refused                   14   a precondition does not hold
    │   ├── IllegalStep                the table of steps has no such step
    │   ├── NotReady                   dependencies, pause or time; or it waits for a merge
    │   ├── OnlyAdded                  a task was added, but no agent could be started on it
    │   ├── NeedsOverride              a live attempt holds the task
    │   ├── OverrideIsForPeople        an agent used --override
    │   ├── NotAllowed                 the caller's role does not permit it
    │   ├── NotTrusted                 settings of a repository that no person has trusted
    │   ├── DependencyCycle
    │   ├── SlugTaken
    │   ├── ProjectTaken
    │   ├── ProjectInUse
    │   ├── NotARepository
    │   ├── BareRepository             it has no checkout
    │   ├── BranchBlocked              an existing branch's name prevents fleet's branch
    │   ├── NoCommit                   the target branch has no commit yet
    │   ├── DetachedHead               no branch is checked out, and no target is set
    │   ├── TargetGone                 the branch that was kept as the target does not exist
    │   ├── BranchInUse                the integration branch is checked out
    │   ├── SetupFails                 a worktree could not be set up
    │   ├── Uncoordinated              the coordinator is dead or was stopped
    │   ├── NotWoken                   an agent that coordinates cannot be woken
    │   ├── EngineMissing              the engine's program is not installed or not named
    │   ├── EngineNotReady             the engine would wait at a dialog
    │   ├── VariablesMissing           agents would lack variables that they need
    │   ├── AutonomyRefused            for example `full` as root
    │   ├── SandboxRefused             bubblewrap is missing or cannot make namespaces
    │   ├── NoAgentsDoor               no daemon listens at the socket for agents
    │   ├── LimitReached               the limit of running agents
    │   ├── NoPortsLeft                every block of ports belongs to a worktree
    │   ├── OverBudget                 the budget of a task, a project or a day is spent
    │   ├── EngineHeld                 a usage limit, a missing login, or a trial
    │   ├── CannotAnswer               the question can be answered only at the agent's terminal
    │   ├── CoordinatorLives           the coordinator is alive or unknown
    │   ├── NoTerminal                 a coordinator is a duty of the daemon, and nobody can join it
    │   ├── NotProven                  a new coordinator gave no proof in time
    │   ├── WorktreeRefused            foreign or incomplete
    │   │   └── ForeignBranch          the task's branch is somebody else's
    │   ├── SubmoduleMissing           the recorded commit of a submodule cannot be checked out
    │   ├── NotMergeable               conflict, nothing to merge
    │   │   └── NotVerified            setup or verify failed on the merged files
    │   ├── UncommittedWork            `fleet done` in a worktree with uncommitted changes
    │   ├── WorkMoved                  the branch is not at the commit that was named
    │   ├── MergesMissing              recorded merges are no longer on any branch
    │   ├── NotPulled                  a pull request could not be opened
    │   ├── OtherHost                  it belongs to another home or host
    │   │   └── MeantElsewhere         the caller names another host or socket
    │   ├── HomeMoved                  the home is not at its recorded path
    │   ├── HomeCopied                 one home in two places
    │   ├── SeatKept                   a coordinator's seat is not released like a claim
    │   ├── NotDisowned                its own home can still settle it
    │   ├── NotSettled                 the agent is not proven dead
    │   ├── NotExcused                 the process keeps no worktree busy, or is the agent's
    │   ├── NotResumable               alive, unknown, finished or taken over
    │   ├── ForceRefused               the lock holder is not proven
    │   ├── NoUnitSystem               neither systemd nor launchd starts anything for this user
    │   ├── PathTaken                  a foreign file is where the daemon's socket belongs
    │   ├── OtherVersion               the daemon is of another version
    │   ├── Draining                   the daemon is ending
    │   ├── KeyReused                  one idempotency key for two requests
    │   └── ImportRefused              lists every fault with its line
    ├── NoDoor                     1   the daemon does not answer, and there is no other way
    ├── Unanswered                 1   the daemon did not answer a request: nobody knows whether it was done
    ├── AnswerLost                 1   the daemon ended during a request, and the repetition is refused
    ├── JobFailed                  1   a job cannot continue
    ├── ToolError                  1   another program failed
    │   ├── TmuxRefused
    │   ├── GitRefused
    │   ├── UnitRefused                systemd or launchd did not take the daemon's unit
    │   ├── SetupFailed                the project's setup command
    │   └── NotReleased                the thing of a claim could not be removed
    └── StoreError                 1   the store or the home cannot be used
        ├── HomeUnusable
        ├── StoreUnreadable            garbage, truncated, no permission
        ├── StoreForeign               a database, but not fleet's
        ├── StoreNewer                 made by a newer fleet
        ├── StoreGone                  the home's database is missing
        ├── StoreReplaced              the database file was replaced while in use
        ├── StoreMixed                 the -wal file belongs to another database
        ├── WriteFailed                disk full, read-only: nothing was changed
        │   └── NotAFolder             a file is where the home needs a folder
        ├── DriverMissing              the postgres extra is not installed
        ├── StoreUnreachable           the database server does not answer
        ├── OutcomeUnknown             the server stopped answering during a commit
        ├── InvariantBroken            the database refused what the code allowed
        └── EffectInTransaction        an effect was tried while a transaction was open

Each family has a file; families.py has what they share. A file is imported when the first of its errors is raised or
caught, because a command that succeeds needs no errors. An error carries facts, and its text is built from them; its
hint says what to do next.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.errors.absent import *
    from fleet.errors.contested import *
    from fleet.errors.daemon import *
    from fleet.errors.families import *
    from fleet.errors.given import *
    from fleet.errors.refused import *
    from fleet.errors.store import *
    from fleet.errors.superseded import *
    from fleet.errors.tools import *

_FAMILIES = ("families", "given", "absent", "contested", "superseded", "refused", "tools", "store", "daemon")


def __getattr__(name: str) -> object:
    """Return the error class of this name; import the files of the families until one defines it.

    Raise AttributeError when none does.
    """
    for family in _FAMILIES:
        module = __import__(f"fleet.errors.{family}", fromlist=[name])
        if hasattr(module, name):
            return getattr(module, name)
    raise AttributeError(name)
