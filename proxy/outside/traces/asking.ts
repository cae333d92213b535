import { gatewayError } from '../../../plugins/errors.ts'
import type { Http } from '../../../plugins/host.ts'
import type { WitnessCounts, WitnessQuestion } from './question.ts'

/** How a trace store is asked. */
export interface StoreLine {
  readonly http: Http
  /** Base URL without a stroke at its end. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  /** Most traces read for one question. */
  readonly maxTraces: number
}

/** Asks a trace store. Throws `runner_unreachable`, `runner_timeout` and `runner_protocol`. */
export type AskStore = (question: WitnessQuestion, line: StoreLine) => Promise<WitnessCounts>

/** Largest answer, in bytes: 500 traces of some dozen spans each are a few MiB. */
const longestAnswer = 67_108_864

/** GETs a JSON document; undefined for 404, which stores say where they have nothing. Throws as {@link AskStore}. */
export async function getJson<Document>(
  line: StoreLine,
  path: string,
  query: Readonly<Record<string, string>>,
): Promise<Document | undefined> {
  const url = `${line.url}${path}?${new URLSearchParams(query)}`
  const headers = { accept: 'application/json', ...line.headers }
  const answer = await line.http.send(url, { headers, timeoutMs: line.timeoutMs, maxBytes: longestAnswer })
  if (answer.status === 404) return undefined
  if (answer.status !== 200)
    throw gatewayError('runner_protocol', `the trace store answered ${answer.status} to ${path}`)
  try {
    return JSON.parse(answer.body.toString('utf8')) as Document
  } catch (cause) {
    throw gatewayError('runner_protocol', `the trace store answered something that is not JSON to ${path}`, { cause })
  }
}
