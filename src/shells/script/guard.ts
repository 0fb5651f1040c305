// The guard stands between the host and the shell: a process of its own inside that hands commands on, and ends what a command has
// started when the host says so. A shell that is busy hears nothing; the host has one pipe, and no hand inside a container.
// POSIX shell and /proc only, without starting a single program, since there may be no process number left.

/**
 * Lines from the host: a command, which begins with `eval`, and its mark; or `end`. What the command has started is told by time: by the clock at which it
 * was handed on, in the ticks in which the kernel notes when a process began, and within one tick by the last process number. gVisor
 * rounds the clock up, so the tick before counts too; and it does not tell that number, which is then looked for.
 * Of what is new, that belongs to the command whose nearest older ancestor is the shell; what has lost its parents too, unless it is
 * somebody else's: in a pid namespace of its own (`alone`) nothing is, elsewhere it must be of the same session, or carry the
 * mark that the backend `local` puts into the environment. What an earlier command left running may go on starting things.
 *
 * SIGURG, which does nothing to a process that does not wait for it, tells the shell to give the command up: before its programs are ended,
 * or it would go on with the next one in the list. The shell waits for `go` then, so that nothing of its own is taken for the command's.
 * The mark is said again before: a command that reads every descriptor that it finds has taken it out of the shell's pipe.
 */
export const guardScript = String.raw`
guard() {
  IFS= read -r stat </proc/self/stat
  self=${'$'}{stat%% *}
  set -- ${'$'}{stat##*) }
  own=$4 inner=
  while IFS= read -r line; do
    case $line in
      eval*)
        IFS= read -r mark || break
        IFS=' ' read -r up rest </proc/uptime
        since=${'$'}{up%.*}${'$'}{up#*.} since=${'$'}{since#0} since=${'$'}{since#0}
        IFS=' ' read -r one five quarter counts last </proc/loadavg
        [ "$last" -gt 0 ] || find_last
        printf '%s\n%s\n' "$line" "$mark" ;;
      end) sweep; printf 'again %s\ngo\n' "$mark" ;;
    esac
  done
  since=0 last=0
  sweep
  kill -9 "$inner" $$
}
look() {
  IFS= read -r stat <"/proc/$1/stat" || return 1
  set -- ${'$'}{stat##*) }
  state=$1 parent=$2 session=$4
  shift 19
  start=$1
}
find_last() { for entry in /proc/[0-9]*; do [ "${'$'}{entry#/proc/}" -gt "$last" ] && last=${'$'}{entry#/proc/}; done; }
is_new() { [ "$start" -gt "$since" ] || { [ "$start" -ge $((since - 1)) ] && [ "$pid" -gt "$last" ]; }; }
is_marked() {
  [ -n "$GLOVEBOX_EXEC" ] || return 1
  environ=
  IFS= read -r environ <"/proc/$1/environ"
  case $environ in *"GLOVEBOX_EXEC=$GLOVEBOX_EXEC"*) return 0 ;; esac
  return 1
}
is_ours() {
  [ "$root" = "$inner" ] && return 0
  if [ "$alone" = 1 ]; then [ "$root" = 1 ]; return; fi
  case "$old " in *" $root "*) return 1 ;; esac
  eval "session=\$session_$1"
  [ "$session" = "$own" ] || { is_marked "$1" && ! is_marked "$root"; }
}
gather() {
  new= old= found=
  for entry in /proc/[0-9]*; do
    pid=${'$'}{entry#/proc/}
    case $pid in 1 | "$self" | "$inner" | $$) continue ;; esac
    look "$pid" || continue
    if is_new; then
      [ "$state" = Z ] || new="$new $pid"
      eval "parent_$pid=$parent session_$pid=$session"
    elif [ "$session" = "$own" ]; then old="$old $pid"; fi
  done
  for pid in $new; do
    eval "root=\$parent_$pid"
    while case "$new " in *" $root "*) ;; *) false ;; esac; do eval "root=\$parent_$root"; done
    is_ours "$pid" && found="$found $pid"
  done
}
sweep() {
  [ -n "$inner" ] || for entry in /proc/[0-9]*; do look "${'$'}{entry#/proc/}" && [ "$parent" = $$ ] && inner=${'$'}{entry#/proc/}; done
  [ -n "$inner" ] && kill -URG "$inner" && kill -CONT "$inner"
  rounds=0
  while [ $((rounds += 1)) -le 100 ]; do
    gather
    [ -n "$found" ] || break
    kill -9 $found
  done
}
`
