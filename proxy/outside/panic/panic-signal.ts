import type { EventEmitter } from 'node:events'

/**
 * Calls back on every SIGUSR2, which is how every layer comes back to the gateway when the admin port does not answer. Gives back
 * what stops listening. Without a listener SIGUSR2 would end the process.
 */
export function onPanicSignal(callback: (reason: string) => void, source: EventEmitter = process): () => void {
  const heard = (): void => callback('SIGUSR2')
  source.on('SIGUSR2', heard)
  return () => void source.off('SIGUSR2', heard)
}
