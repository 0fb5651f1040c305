// The thorough half of a look: examines what is new or suspect, by descriptor, because the guest owns both trees and may
// swap any part of a path for a link at any time. Brings the remembered tree up to date and notes what is different.
import { closeSync, fstatSync, opendirSync } from 'node:fs'
import type { ChangeStop } from '../../contract/recorded-action.ts'
import { findInside, itself, openRoot, type Name, type Opened } from '../../paths/descriptor.ts'
import { isErrno } from '../../paths/refusal.ts'
import type { Breath } from './breath.ts'
import type { Differences } from './differences.ts'
import { findingOf, type Finding, type FindingOptions } from './facts.ts'
import type { Suspects } from './glance.ts'
import { doubtMs } from './grain.ts'
import {
  descendants,
  keyOf,
  nameOf,
  namesTo,
  newNode,
  pathKeyOf,
  sameStamp,
  stampOf,
  type Stamp,
  type TreeNode,
} from './tree.ts'

export interface SurveyOptions extends FindingOptions {
  readonly maxEntries: number
  readonly maxDepth: number
  readonly hasFineTimes: boolean
  readonly breath: Breath
  readonly differences: Differences
  readonly stopped: Set<ChangeStop>
  /** Entries that are remembered, of all trees. */
  readonly count: { entries: number }
}

export class Survey {
  readonly #options: SurveyOptions

  constructor(options: SurveyOptions) {
    this.#options = options
  }

  async examine(top: TreeNode, hostPath: string, suspects: Suspects): Promise<void> {
    for (const [directory, children] of suspects) {
      if (directory.isGone) continue
      const opened = this.#reach(directory, hostPath)
      if (opened === undefined) continue
      try {
        for (const child of children) {
          if (!child.isGone) await this.#entry(opened.fd, directory, child.name, child)
        }
        if (directory === top) await this.#enter(opened, top)
      } finally {
        closeSync(opened.fd)
      }
    }
  }

  /** Component by component from the top, following no link. */
  #reach(directory: TreeNode, hostPath: string): Opened | undefined {
    return this.#attempt(() => {
      let at = openRoot(hostPath)
      for (const name of namesTo(directory).slice(1)) {
        const above = at
        try {
          const next = findInside(above.fd, name)
          // It was there a moment ago.
          if (next === undefined) return void this.#options.stopped.add('concurrent')
          at = next
        } finally {
          closeSync(above.fd)
        }
        if (at.stats.isDirectory()) continue
        closeSync(at.fd)
        return void this.#options.stopped.add('concurrent')
      }
      return at
    })
  }

  /** Finds what is new in a directory. What is known of it is examined only where it is suspect. */
  async #enter(opened: Opened, node: TreeNode): Promise<void> {
    const stats = fstatSync(opened.fd)
    node.children ??= new Map()
    node.isPartial = false
    if (node.depth >= this.#options.maxDepth) return this.#isPartial(node, 'depth')
    const names = await this.#newNames(opened, node)
    for (const name of names) {
      await this.#entry(opened.fd, node, nameOf(name), undefined)
    }
    // Of before the listing: what came since makes it suspect.
    this.#settle(node, stampOf(stats), false)
  }

  async #newNames(opened: Opened, node: TreeNode): Promise<readonly string[]> {
    const listing = this.#attempt(() => opendirSync(itself(opened.fd), { encoding: 'latin1', bufferSize: 256 }))
    if (listing === undefined) {
      node.isPartial = true
      return []
    }
    const names: string[] = []
    let listed = 0
    try {
      for (let entry = listing.readSync(); entry !== null; entry = listing.readSync()) {
        if (++listed > this.#options.maxEntries) {
          this.#isPartial(node, 'entries')
          break
        }
        if (node.children?.has(entry.name) !== true) names.push(entry.name)
        const pause = this.#options.breath.take()
        if (pause !== undefined) await pause
      }
    } finally {
      listing.closeSync()
    }
    return names
  }

  async #entry(fd: number, parent: TreeNode, name: Name, known: TreeNode | undefined): Promise<void> {
    const key = keyOf(name)
    if (known === undefined && this.#options.count.entries >= this.#options.maxEntries)
      return this.#isPartial(parent, 'entries')
    const found = this.#attempt(() => findInside(fd, name) ?? 'gone')
    if (found === undefined) return this.#isPartial(parent, 'unreadable')
    if (found === 'gone') return known === undefined ? undefined : this.#remove(known)
    try {
      const finding = await this.#find(fd, name, found, known)
      if (finding === undefined) return
      const node = this.#remember(parent, key, known, finding)
      if (finding.facts.kind === 'directory') await this.#enter(found, node)
      else if (node.children !== undefined) this.#removeBelow(node)
    } finally {
      closeSync(found.fd)
    }
    const pause = this.#options.breath.takeExamined()
    if (pause !== undefined) await pause
  }

  /** Undefined when nothing is different. */
  async #find(fd: number, name: Name, found: Opened, known: TreeNode | undefined): Promise<Finding | undefined> {
    const stamp = stampOf(fstatSync(found.fd))
    const isSettled = known !== undefined && sameStamp(known.stamp, stamp) && !known.isDoubtful
    if (isSettled && !found.stats.isDirectory()) return undefined
    const finding = await findingOf({ ...found, within: fd, name }, this.#options)
    if (finding.stop !== undefined) this.#options.stopped.add(finding.stop)
    return finding
  }

  #remember(parent: TreeNode, key: string, known: TreeNode | undefined, finding: Finding): TreeNode {
    const node = known ?? newNode(nameOf(key), parent, finding.facts)
    const isTouched = known !== undefined && !sameStamp(known.stamp, finding.stamp)
    this.#options.differences.note(pathKeyOf(node), known?.facts, finding.facts, isTouched)
    node.facts = finding.facts
    this.#settle(node, finding.stamp, finding.stop === 'concurrent')
    if (known === undefined) {
      parent.children?.set(key, node)
      this.#options.count.entries++
    }
    return node
  }

  #settle(node: TreeNode, stamp: Stamp, isUnsettled: boolean): void {
    node.stamp = stamp
    node.isDoubtful = isUnsettled || (!this.#options.hasFineTimes && stamp.ctimeMs > Date.now() - doubtMs)
  }

  #remove(node: TreeNode): void {
    this.#removeBelow(node)
    this.#options.differences.note(pathKeyOf(node), node.facts, undefined, true)
    node.parent?.children?.delete(keyOf(node.name))
    node.isGone = true
    this.#options.count.entries--
  }

  #removeBelow(node: TreeNode): void {
    for (const below of descendants(node)) {
      this.#options.differences.note(pathKeyOf(below), below.facts, undefined, true)
      below.isGone = true
      this.#options.count.entries--
    }
    node.children = undefined
    node.isPartial = false
  }

  #isPartial(node: TreeNode, why: ChangeStop): void {
    node.isPartial = true
    this.#options.stopped.add(why)
  }

  /** Undefined where the permissions of the host do not let us look, or the disk does not give it. */
  #attempt<Result>(look: () => Result): Result | undefined {
    try {
      return look()
    } catch (error) {
      if (!isErrno(error, 'EACCES', 'EPERM', 'EIO', 'ENOENT', 'ENOTDIR', 'ENAMETOOLONG')) throw error
      this.#options.stopped.add('unreadable')
      return undefined
    }
  }
}
