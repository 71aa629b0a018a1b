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
    │   ├── NotSettled                 it lives, or may live
    │   ├── NotExcused                 it keeps no worktree, or is proven to be the agent's
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

Each family has a file; families.py has what they share. A file is imported when the first of its errors is raised or caught, because
a command that goes well needs none. An error carries facts; its text is built from them; its hint says what to do next.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.errors.absent import *
    from fleet.errors.contested import *
    from fleet.errors.families import *
    from fleet.errors.given import *
    from fleet.errors.refused import *
    from fleet.errors.store import *
    from fleet.errors.superseded import *
    from fleet.errors.tools import *

_FAMILIES = ("families", "given", "absent", "contested", "superseded", "refused", "tools", "store")


def __getattr__(name: str) -> object:
    """Import families until one has the error."""
    for family in _FAMILIES:
        module = __import__(f"fleet.errors.{family}", fromlist=[name])
        if hasattr(module, name):
            return getattr(module, name)
    raise AttributeError(name)
