import { repeat } from '../leaking.ts'
for (const [who, what, n] of [['root', 'runs', 2500], ['user', 'runs', 1000], ['root', 'creates', 100], ['user', 'creates', 100]] as const) {
  const r = await repeat(who, what, n); console.log(who, what, JSON.stringify(r))
}
