"""Names of ignored files and folders that can be made again, when no setting says otherwise."""

from __future__ import annotations

# Folders and files that a build, a package manager or a desktop makes again.
DISPOSABLE = (
    *("node_modules", "bower_components", ".pnpm-store", ".next", ".nuxt", ".svelte-kit", ".parcel-cache", ".turbo"),
    *(".venv", "venv", "__pycache__", "*.pyc", "*.pyo", "*.egg-info", ".eggs", ".tox", ".nox", ".hypothesis"),
    *(".mypy_cache", ".pytest_cache", ".ruff_cache", ".import_linter_cache", ".coverage", "htmlcov", "coverage"),
    *(
        "target",
        "dist",
        "build",
        "_build",
        ".build",
        "cmake-build-*",
        "CMakeFiles",
        ".gradle",
        ".stack-work",
        ".dart_tool",
    ),
    *("*.o", "*.obj", "*.class", "*.a", "*.so", "*.dylib", "zig-cache", ".zig-cache", "DerivedData", "Pods"),
    *(".cache", ".sass-cache", ".DS_Store", "Thumbs.db"),
)
