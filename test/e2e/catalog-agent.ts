// An agent that reads nothing but its catalog, with the tools that every shell has: no JSON parser, no variable, no question to anybody.
export const agent = String.raw`
cd /workspace/.glovebox || exit 1
value() { sed -n 's/^ *"'"$2"'": "\{0,1\}\([^",]*\)"\{0,1\},\{0,1\}$/\1/p' "$1" | head -n 1; }
after() { grep -A 8 '"what": "'"$2"'"' "$1" | sed -n 's/^ *"'"$3"'": "\{0,1\}\([^",]*\)"\{0,1\},\{0,1\}$/\1/p' | head -n 1; }
listed() { sed -n '/"'"$2"'": \[/,/\]/p' "$1" | sed -n 's/^ *"\([^"]*\)",\{0,1\}$/\1/p' | tr '\n' ' '; }
echo "who: $(value session.json sandboxId) $(value runtime.json backend) $(value runtime.json sandboxed) $(value session.json cwd)"
echo "network: $(value permissions.json mode)"
echo "write: $(listed permissions.json writable)"
echo "delete: $(value permissions.json actionsMayDelete)"
echo "actions: $(grep -c '^{"name":' tools.json) $(grep -o '"name":"run_shell","summary":"[^"]*"' tools.json | wc -l | tr -d ' ')"
echo "variables: $(listed environment.json names)"
echo "secrets: $(listed permissions.json secrets)"
echo "did: $(value now/outcome.json succeeded) $(value now/outcome.json failed) $(value now/outcome.json timedOut) $(value now/outcome.json refused)"
echo "last: $(tail -n 1 now/history.jsonl | grep -o '"about":"[^"]*"') $(cat now/stdout)"
echo "used: $(value now/budget.json commands)"
echo "timeout: $(after now/budget.json timeoutMs limit) of $(after now/budget.json timeoutMs ceiling)"
echo "memory: $(after now/budget.json memoryMb limit)"
echo "life: $(after now/budget.json lifetime left)"
`

export type Answers = ReadonlyMap<string, string>

export const answersIn = (text: string): Answers =>
  new Map(
    text
      .trimEnd()
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2).trim()] as const),
  )
