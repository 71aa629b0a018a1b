"""What is true: pure values, tables of steps, decisions. No clock, no files, no database.

Here are the names that a command needs before it imports anything else.
"""

VERSION = "0.1.0"

# The environment variables of fleet and its agents. No other file spells these names.
FLEET_HOME = "FLEET_HOME"  # the fleet home
FLEET_DISPATCH_ID = "FLEET_DISPATCH_ID"  # the dispatch of an agent: marks its processes
FLEET_PROJECT = "FLEET_PROJECT"
FLEET_TASK = "FLEET_TASK"
FLEET_KIND = "FLEET_KIND"  # the kind of that dispatch
FLEET_JOB = "FLEET_JOB"
FLEET_ITEM = "FLEET_ITEM"  # the id of an item of that job
FLEET_RUNNER_OF = "FLEET_RUNNER_OF"  # the job of a runner: marks the processes that it starts
FLEET_HOOKS = "FLEET_HOOKS"  # the engine whose hooks call fleet; "none" in a step of a job
FLEET_PROMPT_FILE = "FLEET_PROMPT_FILE"
FLEET_PREDECESSOR = "FLEET_PREDECESSOR"  # the dispatch that this one follows, for example after a handoff or a resume
FLEET_DIRECT = "FLEET_DIRECT"  # when set, a command does its work itself, without the daemon
FLEET_TOKEN = "FLEET_TOKEN"  # noqa: S105 - the name of the variable
FLEET_DOOR = "FLEET_DOOR"  # the socket by which a confined agent reaches the daemon
FLEET_REPLACE_NONCE = "FLEET_REPLACE_NONCE"  # the secret with which a new coordinator proves itself

DEFAULT_HOME = "~/.fleet"  # the fleet home when FLEET_HOME is not set
DAEMON_SOCKET = "daemon.sock"  # in the home
