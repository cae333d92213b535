import type { Verb } from './verb.ts'

/** `foldgate serve FILE`: starts the gateway and stays until it is told to leave. */
export const serve: Verb = {
  name: 'serve',
  summary: 'start the gateway with a configuration',
  usage: 'FILE',
  example: 'foldgate serve /etc/foldgate/gateway.yaml',
  takes: [1, 1],
  async run({ positionals: [file = ''] }) {
    const { serveForever } = await import('../main.ts')
    await serveForever(file)
    return 0
  },
}
