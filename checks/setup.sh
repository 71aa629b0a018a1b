#!/bin/sh
# Makes .venv hold exactly what requirements.lock says, and fleet itself, editable. Safe to run again.
set -eu
cd "$(dirname "$0")/.."
unset VIRTUAL_ENV PYTHONDONTWRITEBYTECODE

new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

find_python() {
    for python in "${PYTHON:-python3}" python3 python3.14 python3.13 python3.12 python3.11; do
        if new_enough "$python"; then
            echo "$python"
            return
        fi
    done
    echo "fleet needs Python 3.11 or newer; set PYTHON to one" >&2
    exit 1
}

# Where there is no uv, one is put aside; .venv itself stays free of pip and setuptools, which slow every start.
find_uv() {
    if command -v uv; then return; fi
    if [ ! -x .build/uv/bin/uv ]; then
        "$(find_python)" -m venv .build/uv
        .build/uv/bin/python -m pip install --quiet --disable-pip-version-check uv >&2
    fi
    echo .build/uv/bin/uv
}

uv=$(find_uv)
if ! new_enough .venv/bin/python; then
    rm -rf .venv
    python=$(find_python)
    "$uv" venv --quiet --python "$(command -v "$python")" .venv
fi
install() {
    "$uv" pip install --quiet --python .venv/bin/python "$@"
}
install --compile-bytecode --require-hashes --requirement requirements.lock
install --no-deps --no-build-isolation --editable .
