import type { Endpoint } from './endpoint.ts'

/** `GET /-/consumers`: who still asks for the old per-layer headers. */
export const consumers: Endpoint = {
  method: 'GET',
  path: '/-/consumers',
  run: (operations) => ({ body: operations.consumers() }),
}
