// One exec of the API, from its request to its recorded end.
import type { Served } from './served.ts'

export async function execOnce({ url, token }: Served): Promise<void> {
  const answer = await fetch(`${url}/sandbox/execs`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ project_id: 'bench', exec: { kind: 'shell', command: 'true' } }),
  })
  const text = await answer.text()
  if ((JSON.parse(text) as { readonly status?: string }).status !== 'SUCCEEDED') throw new Error(text)
}
