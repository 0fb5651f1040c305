export const recordLimitGroup = (_: { sandboxId: string; stateDir: string; directories: readonly string[] }): Promise<void> => Promise.resolve()
