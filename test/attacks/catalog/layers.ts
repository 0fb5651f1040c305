import { rowsOf, type AttackRow } from './row.ts'

const { blocked } = rowsOf('layers')

/** Only bwrap lays them: see catalog/docker.ts. */
export const layers: readonly AttackRow[] = [
  blocked('a lower layer cannot be written from inside', 'overlayfs copies a file up before the first change'),
  blocked(
    'a layer and the work directory cannot be reached by themselves',
    'overlayfs keeps private clones; the staged ones are taken away before anything is started',
  ),
  blocked(
    'the signs of overlayfs cannot be made from inside',
    'they are trusted attributes, and whiteouts are refused by overlayfs and the system-call filter',
  ),
  blocked('a setuid file in a lower layer gives nothing', 'nosuid and nodev on the layers and on the whole'),
  blocked('a second mount that shows a layer is refused', 'layers are compared with every other mount'),
]
