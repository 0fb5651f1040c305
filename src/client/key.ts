// A key under which the server does a thing once, however often it is sent.
import { chance } from '../contract/chance.ts'

export const newKey = chance
