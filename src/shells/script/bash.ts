// The loop in which bash runs one command after another. It reads lines from the guard: a command (as a line that says it to `eval`),
// and behind it the command's mark. The mark is still in the pipe while the command runs: nothing that prints all variables, traces
// or listens can say it by chance. When it is read the command has ended, and the mark goes out behind its last byte on both outputs.
//
// `exit`, `set -e`, a signal like SIGTERM and the guard's own all end bash, which then writes down its state and becomes a new bash in the same
// process, with the same directory, mask, open files and children.
// An environment that is too large for the kernel is left out on the way: all of it is in the state.
// Nothing stands in a function that the command could notice: `declare` would be local there. Nothing changes an option,
// `$?` or a standard stream of the next command.
import { inOneLine } from './in-one-line.ts'

const prelude = String.raw`
__glovebox_status() { return "$1"; }
__glovebox_say() {
  GLOVEBOX_SHELL_SAID=$1
  command printf '\036%s %s %s\n' "$1" "$GLOVEBOX_SHELL_CODE" "$2" >&251
  command printf '\036%s\n' "$1" >&252
}
__glovebox_note() {
  GLOVEBOX_SHELL_ON=
  case $GLOVEBOX_SHELL_FLAGS in *x*) GLOVEBOX_SHELL_ON='set -x;' ;; esac
  case $GLOVEBOX_SHELL_FLAGS in *v*) GLOVEBOX_SHELL_ON="$GLOVEBOX_SHELL_ON set -v;" ;; esac
}
__glovebox_watch() {
  trap '{ GLOVEBOX_SHELL_CODE=$? GLOVEBOX_SHELL_FLAGS=$-; set +exuvC -ET; } 2>/dev/null; __glovebox_leave "${'$'}{#FUNCNAME[@]}" "$@"' EXIT
  trap '[ -z "$GLOVEBOX_SHELL_BUSY" ] || { GLOVEBOX_SHELL_ENDED=1; exit 124; }' URG
}
__glovebox_dump() {
  shopt -p extglob
  declare -f
  declare -Fx
  declare -p
  shopt -p
  alias -p
  set +o
  local each
  for each in e u C; do [[ $GLOVEBOX_SHELL_FLAGS != *$each* ]] || echo "set -$each"; done
  for each in E T; do [[ $GLOVEBOX_SHELL_FLAGS == *$each* ]] || echo "set +$each"; done
  [ "$1" != 0 ] || { shift; printf 'set --'; [ $# = 0 ] || printf ' %q' "$@"; echo; }
  trap -p
  echo '# whole'
}
__glovebox_leave() {
  exec </dev/null >/dev/null 2>&1
  [ -n "$GLOVEBOX_SHELL_BUSY" ] || exit "$GLOVEBOX_SHELL_CODE"
  trap : URG
  GLOVEBOX_SHELL_LAST=
  until [ "$GLOVEBOX_SHELL_LAST" = go ]; do
    IFS= read -r -u 250 GLOVEBOX_SHELL_LAST || exit "$GLOVEBOX_SHELL_CODE"
    [ "$GLOVEBOX_SHELL_LAST" = go ] || GLOVEBOX_SHELL_LINE=${'$'}{GLOVEBOX_SHELL_LAST#again }
    [ -n "$GLOVEBOX_SHELL_ENDED" ] || break
  done
  __glovebox_note
  local state script each
  state=$(__glovebox_dump "$@")
  [[ $state == *'# whole' ]] || exit "$GLOVEBOX_SHELL_CODE"
  { for each in 0 1 2 3 4; do IFS= read -r -d '' script; done; } <"/proc/$$/cmdline"
  shopt -s execfail
  set -- "$BASH" --norc --noprofile -c "$script" "$0" "$GLOVEBOX_SHELL_CODE" "$GLOVEBOX_SHELL_LINE"
  BASH_ENV= exec "$@" 253<<<"$state"
  exec -c "$@" 253<<<"$state"
  exit "$GLOVEBOX_SHELL_CODE"
}
declare -r GLOVEBOX_SHELL_NL=$'\n'
unset BASH_EXECUTION_STRING
if [ $# = 0 ]; then
  exec 250<&0 251>&1 252>&2 </dev/null >/dev/null 2>&1
  GLOVEBOX_SHELL_CODE=0 GLOVEBOX_SHELL_ON= GLOVEBOX_SHELL_BUSY= GLOVEBOX_SHELL_ENDED= GLOVEBOX_SHELL_SAID=
  __glovebox_watch
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
else
  GLOVEBOX_SHELL_TOLD=("$@")
  set --
  . /dev/fd/253
  exec 253<&-
  __glovebox_watch
  GLOVEBOX_SHELL_BUSY= GLOVEBOX_SHELL_ENDED= GLOVEBOX_SHELL_CODE=${'$'}{GLOVEBOX_SHELL_TOLD[0]}
  __glovebox_say "${'$'}{GLOVEBOX_SHELL_TOLD[1]}" rebuilt
  unset GLOVEBOX_SHELL_TOLD
fi
`

// One line, since bash counts lines from here on and names the number in its messages. The `for` is there for a `break` of the command's.
const loop = [
  'while IFS= read -r -u 250 GLOVEBOX_SHELL_LINE; do',
  'case $GLOVEBOX_SHELL_LINE in',
  'eval*) ;;',
  'go | "again $GLOVEBOX_SHELL_SAID") continue ;;',
  '*) __glovebox_say "${GLOVEBOX_SHELL_LINE#again }" kept; continue ;;',
  'esac;',
  'GLOVEBOX_SHELL_BUSY=1 GLOVEBOX_SHELL_LAST=$GLOVEBOX_SHELL_CODE GLOVEBOX_SHELL_CODE=0;',
  'for GLOVEBOX_SHELL_ONCE in 1; do',
  // In a list with `&&` a failure neither ends a shell with `set -e` nor calls its ERR trap.
  '__glovebox_status "$GLOVEBOX_SHELL_LAST" && :;',
  'eval "$GLOVEBOX_SHELL_LINE" </dev/null >&251 2>&252;',
  'done;',
  'GLOVEBOX_SHELL_CODE=$? GLOVEBOX_SHELL_FLAGS=$-;',
  'case $GLOVEBOX_SHELL_FLAGS in *[xv]*) set +xv; __glovebox_note ;; *) GLOVEBOX_SHELL_ON= ;; esac;',
  'GLOVEBOX_SHELL_BUSY=;',
  'done;',
  // A `break` through all loops comes here too, in the middle of its command.
  '[ -n "$GLOVEBOX_SHELL_BUSY" ] || trap - EXIT;',
  'exit "$GLOVEBOX_SHELL_CODE"',
].join(' ')

export const bashScript = `eval ${inOneLine(prelude)}; ${loop}`
