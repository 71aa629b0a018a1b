#!/bin/sh
# Installs real agent programs into .build/agents, in the versions fleet's engine files were checked with. Safe to run again.
#   sh checks/agents.sh [claude|codex|gemini|opencode] …      claude alone when none is named; 235 MB to 500 MB each
set -eu
cd "$(dirname "$0")/.."
command -v npm >/dev/null || { echo "the real agents come from npm, which is not installed" >&2; exit 1; }

package_of() {
    case $1 in
        claude) echo @anthropic-ai/claude-code@2.1.197 ;;
        codex) echo @openai/codex@0.166.0 ;;
        gemini) echo @google/gemini-cli@0.61.0 ;;
        opencode) echo opencode-ai@1.18.33 ;;
        *) echo "no agent is called $1: claude, codex, gemini, opencode" >&2; return 1 ;;
    esac
}

installed() {
    grep -qs "\"version\": \"${1##*@}\"" ".build/agents/node_modules/${1%@*}/package.json"
}

# Their install scripts run the program once, which would leave folders in the user's home.
XDG_CONFIG_HOME=$PWD/.build/agents/xdg/config XDG_DATA_HOME=$PWD/.build/agents/xdg/data
XDG_STATE_HOME=$PWD/.build/agents/xdg/state XDG_CACHE_HOME=$PWD/.build/agents/xdg/cache
export XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME

mkdir -p .build/agents
[ $# -gt 0 ] || set -- claude
for name in "$@"; do
    package=$(package_of "$name")
    installed "$package" || npm install --silent --no-audit --no-fund --prefix .build/agents "$package"
    echo ".build/agents/node_modules/.bin/$name"
done
