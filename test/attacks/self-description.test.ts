// The catalog tells an agent who it is and what it may do. A hostile command, or a hostile project, would like to tell the next agent
// something else.
import { chownSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { HostError, starters, undefended } from './host.ts'
import { attackScene } from './scene.ts'

const forged = '{"sandboxId":"FORGED"}'

describe.each(starters)('the catalog, started by %s', (starter) => {
  const scene = attackScene(starter)

  it('the catalog can be neither written, replaced, moved nor covered', async () => {
    const hostPath = scene.host().makeDirectory('written')
    // The same files once more, under a path where no catalog is shown.
    const mounts = ['/workspace', '/mnt/copy'].map((guestPath) => ({ guestPath, hostPath }))
    const guest = await scene.host().sandbox({ mounts })
    const attempts = (place: string, beside: string): readonly string[] => [
      `echo '${forged}' > ${place}/session.json`,
      `echo '${forged}' > ${place}/forged.json`,
      `rm -f ${place}/session.json`,
      `mv -f ${place} ${beside} && mkdir ${place} && echo '${forged}' > ${place}/session.json`,
      `ln -sfn ${beside} ${place}/now`,
      `chmod -R 777 ${place} && echo '${forged}' > ${place}/session.json`,
    ]
    const place = '/workspace/.glovebox'
    for (const attempt of [
      ...attempts(place, '/workspace/beside'),
      ...attempts('/proc/self/root/workspace/.glovebox', '/workspace/beside'),
      ...attempts('/mnt/copy/.glovebox', '/mnt/copy/beside'),
      `mkdir -p /tmp/own && echo '${forged}' > /tmp/own/session.json && mount --bind /tmp/own ${place}`,
      `unshare -Um sh -c 'mount -t tmpfs none ${place} && echo FORGED > ${place}/session.json'`,
      `mv /workspace /workspace-2; rm -rf /workspace; umount ${place}`,
    ])
      await guest.run(attempt)
    const seen = await guest.run(`cat ${place}/session.json ${place}/now/outcome.json; ls ${place}`)
    expect(seen.exitCode, seen.stderr).toBe(0)
    expect(seen.stdout).toContain('"sandboxId": "sbx_')
    // What was tried is in it; what was to be written is not.
    expect(seen.stdout).not.toContain('forged.json')
    expect(seen.stdout.replaceAll(/^.*"about".*$/gm, '')).not.toContain('FORGED')

    const own = scene.control()
    for (const attempt of attempts(`${own}/catalog`, `${own}/beside`)) {
      const made = `cd ${own} && rm -rf beside catalog && mkdir catalog`
      expect((await undefended(`${made} && ${attempt}`)).exitCode, attempt).toBe(0)
    }
  })

  it('a project cannot bring a catalog of its own', async () => {
    for (const mode of ['rw', 'ro'] as const) {
      const hostPath = scene.host().makeDirectory(`brought-${mode}`)
      mkdirSync(join(hostPath, '.glovebox'))
      for (const name of ['session.json', 'now']) writeFileSync(join(hostPath, '.glovebox', name), forged)
      const { uid, gid } = statSync(hostPath)
      for (const name of ['', 'session.json', 'now']) chownSync(join(hostPath, '.glovebox', name), uid, gid)
      const guest = await scene.host().sandbox({ mounts: [{ guestPath: '/workspace', hostPath, mode }] })
      const seen = await guest.run('cat /workspace/.glovebox/session.json /workspace/.glovebox/now/budget.json')
      expect([mode, seen.exitCode, seen.stdout.includes('FORGED')]).toEqual([mode, 0, false])
      expect(readFileSync(join(hostPath, '.glovebox/session.json'), 'utf8'), 'control').toContain('FORGED')

      const linked = scene.host().makeDirectory(`linked-${mode}`)
      const elsewhere = scene.host().makeDirectory(`elsewhere-${mode}`)
      writeFileSync(join(elsewhere, 'session.json'), forged)
      symlinkSync(elsewhere, join(linked, '.glovebox'))
      const making = scene.host().sandbox({ mounts: [{ guestPath: '/workspace', hostPath: linked, mode }] })
      await expect(making).rejects.toThrow(HostError)
      await expect(making).rejects.toMatchObject({ code: 'LINK_REFUSED' })
    }
  })
})
