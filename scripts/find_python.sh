#!/bin/sh
# Print the command of a Python that this course runs on, or say what was found instead.
# $PYTHON is tried first. Used by the Makefile.

fits='
import sys
if not (3, 11) <= sys.version_info < (3, 14):
    raise SystemExit("is Python %d.%d" % sys.version_info[:2])
try:
    import ensurepip, venv
except ImportError:
    raise SystemExit("has no venv module (on Debian and Ubuntu: apt install python3-venv)")
'
seen=""
for candidate in "$PYTHON" python3 python3.13 python3.12 python3.11 python .venv/bin/python; do
    [ -n "$candidate" ] || continue
    command -v "$candidate" >/dev/null 2>&1 || continue
    if problem=$("$candidate" -c "$fits" 2>&1); then
        if [ -n "$PYTHON" ] && [ "$candidate" != "$PYTHON" ]; then
            echo "PYTHON=$PYTHON does not fit; using $candidate." >&2
        fi
        echo "$candidate"
        exit 0
    fi
    problem=$(echo "$problem" | tail -n 1)
    seen="$seen
  $candidate: $problem"
done
echo "This course needs Python 3.11, 3.12 or 3.13, with its venv module. Found: ${seen:-no Python at all.}" >&2
echo "Install one (python.org has it for every system), or name yours: make lab PYTHON=/path/to/python3.12" >&2
exit 1
