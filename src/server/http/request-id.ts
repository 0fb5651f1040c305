import { chance } from '../../contract/chance.ts'

/** Under which a request is found again in logs and records. */
export const newRequestId = (): string => `req_${chance()}`
