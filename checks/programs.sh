#!/bin/sh
# Installs the programs that are named (tmux, bwrap) and missing, where that needs no question; else says how.
#
#     sh checks/programs.sh tmux bwrap
set -eu
missing=
for program in "$@"; do
    command -v "$program" >/dev/null || missing="$missing $program"
done
[ "$(uname)" = Linux ] || missing=${missing%bwrap}
[ -n "${missing# }" ] || exit 0

as_root=
if [ "$(id -u)" -ne 0 ]; then as_root="sudo -n"; fi

if command -v apt-get >/dev/null && $as_root true 2>/dev/null; then
    $as_root apt-get -qq update >/dev/null 2>&1 || true
    # shellcheck disable=SC2046 # each word is a package
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y $(echo "$missing" | sed s/bwrap/bubblewrap/) >/dev/null 2>&1 || true
elif command -v brew >/dev/null; then
    # shellcheck disable=SC2086 # each word is a package
    brew install --quiet $missing >/dev/null 2>&1 || true
fi

for program in $missing; do
    command -v "$program" >/dev/null && continue
    case $program in
        tmux) echo "fleet needs tmux 3.2 or newer: install it with your package manager" >&2 ;;
        bwrap) echo "the tests of the sandbox need bubblewrap: install it with your package manager" >&2 ;;
    esac
done
