// Waits for something, but not for ever. The timer goes as soon as it is not needed: one that stays would hold up the end of a program.

export const late = Symbol('late')

export async function inTime<T>(work: Promise<T>, limitMs: number): Promise<T | typeof late> {
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<typeof late>((resolve) => {
    timer = setTimeout(() => resolve(late), limitMs)
  })
  try {
    return await Promise.race([work, tooLate])
  } finally {
    clearTimeout(timer)
  }
}
