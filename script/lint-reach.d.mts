export function hashesOf(texts: ReadonlyMap<string, string>): Record<string, string>
export function toLint(before: Readonly<Record<string, string>>, texts: ReadonlyMap<string, string>): string[]
