// Comparing names as the most forgiving filesystem would. ext4 with casefold, APFS and NTFS open
// `.GIT` when asked for `.git`; casefold also skips code points that show nothing.

/** Two names that any common filesystem may take for the same fold to the same text. */
// SECURITY: a rule for `.git` holds for every spelling of it. test/attacks/host-paths: "a case variant of a protected name is refused"
export const foldName = (name: string): string =>
  name
    .normalize('NFD')
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toUpperCase()
    .toLowerCase()
    .normalize('NFD')

export const startsWithNames = (names: readonly string[], prefix: readonly string[]): boolean =>
  prefix.length <= names.length && prefix.every((name, index) => name === names[index])
