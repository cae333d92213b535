import type { ServerResponse } from 'node:http'
import { refusal } from './refusal.ts'

/** The calls in flight. */
export interface Calls {
  /** A signal that aborts when this call's connection goes or has done with it, or the runner gives up on it. */
  open(response: ServerResponse): AbortSignal
  cutAll(): void
}

/** Makes {@link Calls}. */
export function createCalls(): Calls {
  const open = new Set<AbortController>()
  return {
    open(response) {
      const controller = new AbortController()
      open.add(controller)
      response.once('close', () => {
        open.delete(controller)
        controller.abort(refusal('client_closed', 'the client closed the connection'))
      })
      return controller.signal
    },
    cutAll: () => {
      for (const controller of open) controller.abort(refusal('shutting_down', 'the runner is shutting down'))
    },
  }
}
