/** The id that the kernel sees when root starts a sandbox: one that no user, service or container range has (docs/adr/0003). */
export const guestKernelId = 1_900_000_000
