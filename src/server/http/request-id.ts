import { v7 } from 'uuid'

/** Under which a request is found again in logs and records. */
export const newRequestId = (): string => `req_${v7().replaceAll('-', '')}`
