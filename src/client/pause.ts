// Waiting that can be ended.

/** Settles after the time, or at once when the signal comes. Never rejects: whoever waited looks at the signal. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', settle)
      resolve()
    }
    const timer = setTimeout(settle, ms)
    if (signal?.aborted === true) settle()
    else signal?.addEventListener('abort', settle, { once: true })
  })
}
