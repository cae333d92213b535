import type { Answer, Route } from './route.ts'

const answer = (ok: boolean, word: string): Answer => ({ status: ok ? 200 : 503, body: { status: word } })

/** `GET /healthz/live`: the process answers. */
export const live: Route = {
  method: 'GET',
  path: '/healthz/live',
  answer: async () => answer(true, 'live'),
}

/** `GET /healthz/ready`: calls would be served; 503 while the engine is down or the runner drains. */
export const ready: Route = {
  method: 'GET',
  path: '/healthz/ready',
  async answer(_asked, { engine, draining }) {
    if (draining()) return answer(false, 'draining')
    return answer(engine.state() === 'ready', engine.state())
  },
}

/** `GET /healthz/startup`: the engine has been ready once; 503 while it is first loaded. */
export const startup: Route = {
  method: 'GET',
  path: '/healthz/startup',
  answer: async (_asked, { engine }) => answer(engine.state() !== 'starting', engine.state()),
}

/** `GET /metrics` */
export const metrics: Route = {
  method: 'GET',
  path: '/metrics',
  async answer(_asked, { engine, meter }) {
    const headers = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }
    return { status: 200, headers, body: meter.text(engine.load()) }
  },
}
