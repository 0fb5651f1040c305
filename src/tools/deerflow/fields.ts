import { z } from 'zod'

export const description = z.string().max(2000).describe('Why you are doing this, in a few words. Give it first.')
export const path = (what: string) => z.string().min(1).max(4096).describe(what)
