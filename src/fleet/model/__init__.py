"""What is true: pure values, tables of steps, decisions. No clock, no files, no database.

Here are the names that a command needs before it imports anything else.
"""

VERSION = "0.1.0"

# The variables by which fleet and its agents know each other. No other file spells their names.
FLEET_HOME = "FLEET_HOME"  # the fleet home
FLEET_DISPATCH_ID = "FLEET_DISPATCH_ID"  # the dispatch of an agent: marks its processes
FLEET_PROJECT = "FLEET_PROJECT"
FLEET_TASK = "FLEET_TASK"
FLEET_KIND = "FLEET_KIND"  # of the dispatch
FLEET_JOB = "FLEET_JOB"
FLEET_ITEM = "FLEET_ITEM"  # of the job
FLEET_RUNNER_OF = "FLEET_RUNNER_OF"  # the job of a runner: marks the processes that it starts
FLEET_HOOKS = "FLEET_HOOKS"  # the engine whose hooks call fleet; "none" in a step of a job
FLEET_PROMPT_FILE = "FLEET_PROMPT_FILE"
FLEET_PREDECESSOR = "FLEET_PREDECESSOR"  # the dispatch before this one
FLEET_DIRECT = "FLEET_DIRECT"  # a command that asks no daemon
FLEET_TOKEN = "FLEET_TOKEN"  # noqa: S105 - the name of the variable
FLEET_DOOR = "FLEET_DOOR"  # the socket by which a confined agent reaches the daemon
FLEET_REPLACE_NONCE = "FLEET_REPLACE_NONCE"  # with which a new coordinator proves itself

DEFAULT_HOME = "~/.fleet"  # without FLEET_HOME
DAEMON_SOCKET = "daemon.sock"  # in the home
