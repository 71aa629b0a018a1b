#!/bin/sh
# Installs tmux, and on Linux bubblewrap for the tests of the sandbox, where that needs no question; else says how.
set -eu
missing=
command -v tmux >/dev/null || missing=tmux
if [ "$(uname)" = Linux ]; then command -v bwrap >/dev/null || missing="$missing bubblewrap"; fi
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" -ne 0 ]; then as_root="sudo -n"; fi

if command -v apt-get >/dev/null && $as_root true 2>/dev/null; then
    $as_root apt-get -qq update >/dev/null 2>&1 || true
    # shellcheck disable=SC2086 # each word is a package
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y $missing >/dev/null 2>&1 || true
elif command -v brew >/dev/null; then
    brew install --quiet tmux >/dev/null 2>&1 || true
fi
command -v tmux >/dev/null || echo "fleet needs tmux 3.2 or newer: install it with your package manager" >&2
