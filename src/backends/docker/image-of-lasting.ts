// Lasting commands, with an eye on their image: that it is gone is learnt from docker, when it was to make the container of one.
import type { LastingCommand, LastingCommands } from '../../contract/lasting.ts'
import { isOfNoImage } from './facts.ts'
import { anotherImageGone, imageGone, type HeldImage } from './image.ts'

export function withImage(lasting: LastingCommands, image: HeldImage): LastingCommands {
  const watched = (command: LastingCommand): LastingCommand => ({
    ...command,
    async follow(options) {
      const exit = await command.follow(options)
      const { setupFailed } = exit
      if (setupFailed === undefined || !isOfNoImage(setupFailed)) return exit
      throw image.isWhy(setupFailed) ? imageGone(image.facts()) : anotherImageGone()
    },
  })
  return {
    ...lasting,
    async start(id, plan, request) {
      await image.require()
      return watched(await lasting.start(id, plan, request))
    },
    async find(id) {
      const found = await lasting.find(id)
      return found === undefined || found === 'unbegun' ? found : watched(found)
    },
  }
}
