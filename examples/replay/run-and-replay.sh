#!/bin/sh
# Records a run, repeats it, and shows what came out the same. Leaves both runs below ./runs.
set -u

glovebox run --prompt 'Count to five, and say when.' --sandbox runs/count -- \
  sh -c 'seq 1 5 >/deliverables/numbers.txt; date -Ins >/deliverables/when.txt; sha256sum /deliverables/numbers.txt'

glovebox runs replay runs/count --sandbox runs/count-again
echo "exit code of the replay: $?"

glovebox runs verify runs/count runs/count-again
