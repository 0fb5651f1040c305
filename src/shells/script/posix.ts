// The same loop as in bash.ts, for any POSIX shell: where there is no bash. Such a shell names no descriptor beyond 9, puts
// descriptors back before its EXIT trap runs, and cannot write down functions and traps: after `exit` those are gone.
// `command` takes from `eval` that an error in the text ends the shell.
export const posixScript = String.raw`
__glovebox_status() { return "$1"; }
__glovebox_say() {
  GLOVEBOX_SHELL_SAID=$1
  command printf '\036%s %s %s\n' "$1" "$GLOVEBOX_SHELL_CODE" "$2" >&6
  command printf '\036%s\n' "$1" >&7
}
__glovebox_note() {
  GLOVEBOX_SHELL_ON=
  case $GLOVEBOX_SHELL_FLAGS in *x*) GLOVEBOX_SHELL_ON='set -x;' ;; esac
  case $GLOVEBOX_SHELL_FLAGS in *v*) GLOVEBOX_SHELL_ON="$GLOVEBOX_SHELL_ON set -v;" ;; esac
}
__glovebox_dump() {
  set
  export -p
  readonly -p
  alias | while IFS= read -r GLOVEBOX_SHELL_LINE; do printf '%s\n' "alias ${'$'}{GLOVEBOX_SHELL_LINE#alias }"; done
  set +o
  for GLOVEBOX_SHELL_LINE in e u C; do
    case $GLOVEBOX_SHELL_FLAGS in *"$GLOVEBOX_SHELL_LINE"*) echo "set -$GLOVEBOX_SHELL_LINE" ;; esac
  done
  echo '# whole'
}
__glovebox_leave() {
  [ -n "$GLOVEBOX_SHELL_BUSY" ] || exit "$GLOVEBOX_SHELL_CODE"
  GLOVEBOX_SHELL_LAST=
  until [ "$GLOVEBOX_SHELL_LAST" = go ]; do
    IFS= read -r GLOVEBOX_SHELL_LAST <&5 || exit "$GLOVEBOX_SHELL_CODE"
    [ "$GLOVEBOX_SHELL_LAST" = go ] || GLOVEBOX_SHELL_LINE=${'$'}{GLOVEBOX_SHELL_LAST#again }
    [ -n "$GLOVEBOX_SHELL_ENDED" ] || break
  done
  __glovebox_note
  GLOVEBOX_SHELL_LAST=$(__glovebox_dump)
  case $GLOVEBOX_SHELL_LAST in *'# whole') ;; *) exit "$GLOVEBOX_SHELL_CODE" ;; esac
  exec /bin/sh -c "$GLOVEBOX_SHELL_SCRIPT" sh "$GLOVEBOX_SHELL_SCRIPT" "$GLOVEBOX_SHELL_CODE" "$GLOVEBOX_SHELL_LINE" 4<<GLOVEBOX_SHELL_END
$GLOVEBOX_SHELL_LAST
GLOVEBOX_SHELL_END
}
GLOVEBOX_SHELL_NL='
'
GLOVEBOX_SHELL_SCRIPT=$1
trap '{ GLOVEBOX_SHELL_CODE=$? GLOVEBOX_SHELL_FLAGS=$-; set +exuvC; } 2>/dev/null; __glovebox_leave' EXIT
trap '[ -z "$GLOVEBOX_SHELL_BUSY" ] || { GLOVEBOX_SHELL_ENDED=1; exit 124; }' URG
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
if [ $# = 1 ]; then
  exec 5<&0 6>&1 7>&2 </dev/null >/dev/null 2>&1
  GLOVEBOX_SHELL_CODE=0 GLOVEBOX_SHELL_ON= GLOVEBOX_SHELL_BUSY= GLOVEBOX_SHELL_ENDED= GLOVEBOX_SHELL_SAID=
else
  . /dev/fd/4
  exec 4<&-
  GLOVEBOX_SHELL_BUSY= GLOVEBOX_SHELL_ENDED= GLOVEBOX_SHELL_CODE=$2
  __glovebox_say "$3" half-rebuilt
fi
set --
while IFS= read -r GLOVEBOX_SHELL_LINE <&5; do
  case $GLOVEBOX_SHELL_LINE in
    eval*) ;;
    go | "again $GLOVEBOX_SHELL_SAID") continue ;;
    *) __glovebox_say "${'$'}{GLOVEBOX_SHELL_LINE#again }" kept; continue ;;
  esac
  GLOVEBOX_SHELL_BUSY=1 GLOVEBOX_SHELL_LAST=$GLOVEBOX_SHELL_CODE GLOVEBOX_SHELL_CODE=0
  for GLOVEBOX_SHELL_ONCE in 1; do
    __glovebox_status "$GLOVEBOX_SHELL_LAST" && :
    command eval "$GLOVEBOX_SHELL_LINE" </dev/null >&6 2>&7 5<&- 6>&- 7>&-
  done
  GLOVEBOX_SHELL_CODE=$? GLOVEBOX_SHELL_FLAGS=$-
  case $GLOVEBOX_SHELL_FLAGS in *[xv]*) set +xv; __glovebox_note ;; *) GLOVEBOX_SHELL_ON= ;; esac
  GLOVEBOX_SHELL_BUSY=
done
[ -n "$GLOVEBOX_SHELL_BUSY" ] || trap - EXIT
exit "$GLOVEBOX_SHELL_CODE"
`
