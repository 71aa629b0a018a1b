"""The values of all settings, with their types. Written by `make hot` from the table of settings. Do not edit."""

from __future__ import annotations

from fleet.model.settings.snapshot import SettingsSnapshot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal


class SettingValues(SettingsSnapshot):
    """The value of each setting that is in force. A command that no person has trusted yet raises NotTrusted when it is read."""

    __slots__ = (
        "agents_door",
        "agents_sandbox",
        "agents_sandbox_read",
        "agents_sandbox_write",
        "allow",
        "autonomy",
        "daemon",
        "daemon_sweep",
        "engine",
        "environment_file",
        "environment_pass",
        "exit_grace",
        "git_limit",
        "handoff_ask_percent",
        "handoff_ask_tokens",
        "handoff_force_percent",
        "handoff_force_tokens",
        "handoff_without_progress",
        "integration",
        "keep_operations",
        "keys",
        "limits_agents",
        "limits_cost_day",
        "limits_cost_project",
        "limits_cost_task",
        "limits_failed_spawns",
        "limits_project_agents",
        "limits_quota_percent",
        "merge",
        "merge_batch",
        "notify_channels",
        "notify_command",
        "notify_most",
        "notify_on",
        "notify_quiet",
        "notify_urls",
        "ports_block",
        "ports_first",
        "pr_command",
        "pr_remote",
        "remote_control",
        "report_grace",
        "resume_on_boot",
        "review",
        "screen_theme",
        "silent_after",
        "spawn_cooldown",
        "store",
        "store_wait",
        "target",
        "task_archive_after",
        "task_engine",
        "task_priority",
        "task_verify",
        "tick_every",
        "trash_keep",
        "trash_limit",
        "trust",
        "verify",
        "verify_limit",
        "wake_every",
        "worktree_disposable",
        "worktree_setup",
        "worktree_setup_files",
        "worktree_submodules",
        "worktree_teardown",
    )

    if TYPE_CHECKING:
        store: str
        store_wait: float
        keep_operations: str
        limits_agents: int
        limits_project_agents: int
        limits_failed_spawns: int
        limits_quota_percent: int
        limits_cost_task: float | None
        limits_cost_project: float | None
        limits_cost_day: float | None
        ports_first: int
        ports_block: int
        spawn_cooldown: str
        report_grace: str
        exit_grace: str
        silent_after: str
        git_limit: str
        trash_keep: str
        trash_limit: str
        handoff_ask_percent: int
        handoff_ask_tokens: int
        handoff_force_percent: int
        handoff_force_tokens: int
        handoff_without_progress: int
        tick_every: str
        daemon_sweep: Literal["report", "act"]
        resume_on_boot: bool
        wake_every: str
        environment_file: str | None
        environment_pass: list[str]
        daemon: Literal["up", "never"]
        notify_on: list[Literal["needs you", "failed", "review", "blocked"]]
        notify_channels: list[Literal["desktop", "terminal", "command", "urls"]]
        notify_command: list[str] | None
        notify_urls: list[str]
        notify_quiet: str | None
        notify_most: int
        agents_door: Literal["home", "socket"]
        agents_sandbox: Literal["none", "bwrap"]
        agents_sandbox_read: list[str]
        agents_sandbox_write: list[str]
        remote_control: Literal["up", "down"]
        trust: Literal["ask", "always"]
        screen_theme: Literal["auto", "dark", "light", "terminal"]
        keys: dict[str, object]
        engine: str | list[str] | None
        autonomy: Literal["ask", "edits", "allowlist", "full"] | None
        allow: list[str]
        target: str | None
        integration: str
        verify: str | None
        verify_limit: str
        review: Literal["person", "agent", "none"] | None
        merge: Literal["integrate", "pr"]
        merge_batch: int
        pr_command: str | None
        pr_remote: str
        worktree_setup: str | None
        worktree_setup_files: list[str]
        worktree_submodules: Literal["checkout", "none"]
        worktree_teardown: str | None
        worktree_disposable: list[str]
        task_verify: str | None
        task_engine: str | None
        task_priority: int
        task_archive_after: str
