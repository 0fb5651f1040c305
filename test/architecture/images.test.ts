// The default image of the backend docker is made in two ways: by its Dockerfile where images can be pulled, and by a script where
// they cannot. Every test runs in the one of the script, so what it proves holds for the other only as long as both say the same.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from './sources.ts'

interface Recipe {
  readonly suite: string
  readonly packages: readonly string[]
  readonly useradd: string
  readonly links: string
  readonly user: string
  readonly directory: string
  readonly command: string
}

const read = (path: string): string => readFileSync(join(root, path), 'utf8')

/** What stands at the place in braces; a recipe in which it is not found is none that this test knows. */
function found(text: string, pattern: RegExp): string {
  const [, part] = pattern.exec(text) ?? []
  if (part === undefined) throw new Error(`nothing is like ${String(pattern)}`)
  return part
}

function ofDockerfile(): Recipe {
  const text = read('docker/Dockerfile')
  return {
    suite: found(text, /^FROM debian:(\w+)-slim$/m),
    packages: found(text, /apt-get install -y --no-install-recommends (.+?) \\$/m)
      .split(' ')
      // Essential: no Debian is without it, and debootstrap's smallest neither.
      .filter((name) => name !== 'coreutils'),
    useradd: found(text, /^RUN useradd (.+)$/m),
    links: found(text, /ln -s (\S+ \/usr\/bin\/\S+)/),
    user: found(text, /^USER (.+)$/m),
    directory: found(text, /^WORKDIR (.+)$/m),
    command: found(text, /^CMD (.+)$/m),
  }
}

function ofScript(): Recipe {
  const text = read('script/docker-image')
  return {
    suite: found(text, /^suite=(\w+)$/m),
    packages: found(text, /^packages=(\S+)$/m).split(','),
    useradd: found(text, /chroot "\$work\/root" useradd (.+)$/m),
    links: found(text, /ln -s (\S+ "\$work\/root\/usr\/bin\/[^"]+)"/).replace('"$work/root', ''),
    user: found(text, /--change 'USER (.+?)'/),
    directory: found(text, /--change 'WORKDIR (.+?)'/),
    command: found(text, /--change 'CMD (.+?)'/),
  }
}

describe('the default image of docker', () => {
  it('is the same by its Dockerfile and by the script: packages, user, directory and command', () => {
    expect(ofDockerfile()).toEqual(ofScript())
    expect(ofScript().packages).toContain('python3')
  })
})
