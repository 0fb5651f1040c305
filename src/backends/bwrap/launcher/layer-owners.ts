// The user namespace for layers. It maps two ids, where that for a single mount maps one: the owner on disk is the guest's id
// in the kernel, as there, and root stays somebody on disk too, because overlayfs itself makes files, as the one who mounted
// it, and so do the file actions before they give a file away. An id without a place on disk could make none (EOVERFLOW).
import { makeUserNamespace, type NamespaceMaker } from './user-namespace.ts'

export interface LayerOwner {
  readonly uid: number
  readonly gid: number
}

/** A descriptor of the namespace; the caller closes it. */
export const layerOwners = (maker: NamespaceMaker, owner: LayerOwner): Promise<number> =>
  makeUserNamespace(maker, { uid: mapOf(owner.uid, maker.kernelId), gid: mapOf(owner.gid, maker.kernelId) })

/** Where root is the owner, root's own files are the guest id's on disk. */
export const mapOf = (owner: number, kernelId: number): string =>
  `${owner} ${kernelId} 1\n${owner === 0 ? kernelId : 0} 0 1\n`
