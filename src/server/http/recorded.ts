// Nothing is changed without its record: the intent stands in the log before the change begins, and is on disk before anybody is
// told of it. A quick change does not wait for the disk: it is under way while the disk is, and if the disk fails it is taken back. What
// deletes, or ends what runs, is recorded on a full disk as well: else nobody could make room on it.
import { GloveboxError } from '../../errors/error.ts'
import { renderForOperator } from '../../errors/render.ts'
import type { AuditLog, WrittenIntent } from '../../runtime/audit.ts'
import type { Answer } from './answer.ts'
import type { Log } from './logs.ts'
import type { Call, Recording, Route } from './route.ts'

interface RecordedBy {
  readonly audit: Pick<AuditLog, 'beginWritten'>
  readonly log: Log
}

/** For what changes nothing and has no record. */
export const unrecorded: Recording = { whenRecorded: async () => undefined }

export async function recorded(path: string, route: Route, call: Call, { audit, log }: RecordedBy): Promise<Answer> {
  const { principal, requestId } = call
  const entry = {
    actor: principal.actor,
    action: route.audit ?? `${route.tag}.${route.method}`,
    subject: path.slice(0, 512),
    data: { requestId, project: principal.project },
  }
  const makesRoom = route.method === 'delete' || route.endsOnly === true
  const intent = await audit.beginWritten(entry, { makesRoom })
  const complain = (error: unknown, what: string): void => log.error({ requestId, ...renderForOperator(error) }, what)
  if (route.isQuick !== true) await intent.onDisk()
  let done: Answer
  try {
    done = await route.handle(call, recordingOf(intent, complain))
  } catch (error) {
    await intent.failed({ code: error instanceof GloveboxError ? error.code : 'INTERNAL' })
    throw error
  }
  await intent.onDisk().catch((error: unknown) => {
    complain(error, 'a change was made and is not recorded')
    throw uncertain()
  })
  const location = 'headers' in done ? done.headers?.['location'] : undefined
  const made = location === undefined ? {} : { made: location }
  if (route.isQuick !== true) await intent.done(made)
  else intent.done(made, { isPatient: true }).catch((error: unknown) => complain(error, 'an outcome was not recorded'))
  return done
}

const recordingOf = (intent: WrittenIntent, complain: (error: unknown, what: string) => void): Recording => ({
  async whenRecorded(takeBack) {
    try {
      await intent.onDisk()
    } catch (error) {
      await takeBack().catch((second: unknown) => complain(second, 'what is not recorded could not be taken back'))
      throw error
    }
  },
})

const uncertain = (): GloveboxError =>
  new GloveboxError('AUDIT_UNAVAILABLE', 'Cannot answer for the change: the disk failed while it was recorded', {
    hint: 'It may have been made. The operator can run: glovebox audit verify',
  })
