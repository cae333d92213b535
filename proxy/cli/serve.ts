import { gatewayError } from '../../plugins/errors.ts'
import { besideFile } from './beside.ts'
import type { Verb } from './verb.ts'

/** `foldgate serve FILE`: starts the gateway and stays until it is told to leave. */
export const serve: Verb = {
  name: 'serve',
  summary: 'start the gateway with a configuration',
  usage: 'FILE',
  example: 'foldgate serve /etc/foldgate/gateway.yaml',
  takes: [1, 1],
  async run({ positionals: [file = ''] }) {
    const main = (await import(besideFile('../main'))) as {
      serveForever?: (file: string) => Promise<number | undefined>
    }
    if (!main.serveForever) throw gatewayError('internal', 'this build has no gateway in it')
    return (await main.serveForever(file)) ?? 0
  },
}
