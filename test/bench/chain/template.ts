import type { ChainMessage, Headers, Service } from './exchange.ts'
import { placesOfProcess } from './places.ts'
import { runService } from './service.ts'

const text = 'You are a helpful assistant of {{ tenant }}. Answer briefly. It is {{ now_utc }}.'
const keptTurns = 10
const granularityMs = 3_600_000

/** What the model is told first: a template filled in, then the caller's own system text and the last ten turns. */
const template: Service<undefined> = {
  request({ headers, body }) {
    const system = body.messages.filter(({ role }) => role === 'system')
    const turns = body.messages.filter(({ role }) => role !== 'system').slice(-2 * keptTurns)
    const messages = [{ role: 'system', content: rendered(headers) }, ...system, ...turns]
    return { kind: 'pass', kept: undefined, body: { ...body, messages: messages satisfies ChainMessage[] } }
  },
}

function rendered(headers: Headers): string {
  const known: Readonly<Record<string, string | undefined>> = {
    tenant: headers['x-tenant'],
    // Rounded, so that equal prompts stay equal.
    now_utc: new Date(Math.floor(Date.now() / granularityMs) * granularityMs).toISOString(),
  }
  return text.replace(/\{\{ (\w+) \}\}/g, (_, name: string) => known[name] ?? '')
}

runService(template, placesOfProcess())
