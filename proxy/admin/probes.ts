import type { Answer } from './endpoint.ts'
import type { Health, Probe } from './operations.ts'

/** The answer to a probe: 200 or 503; with `verbose`, or when something is wrong, one line a check as Kubernetes' API server does it. */
export function answerFromHealth(probe: Probe, health: Health, verbose: boolean): Answer {
  const well = health.every((check) => check.ok)
  const status = well ? 200 : 503
  if (well && !verbose) return { status, contentType: textPlain, body: 'ok\n' }
  const lines = health.map(
    ({ name, ok, note }) => `[${ok ? '+' : '-'}]${name} ${ok ? 'ok' : 'failed'}${note ? `: ${note}` : ''}`,
  )
  return {
    status,
    contentType: textPlain,
    body: `${[...lines, `${probe} check ${well ? 'passed' : 'failed'}`].join('\n')}\n`,
  }
}

const textPlain = 'text/plain; charset=utf-8'
