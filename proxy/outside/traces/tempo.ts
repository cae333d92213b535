import { type AskStore, getJson, type StoreLine } from './asking.ts'
import { countSpans } from './count.ts'
import { type ResourceSpans, spansFromOtlpJson } from './otlp-json.ts'
import type { WitnessQuestion, WitnessSpan } from './question.ts'

/** How many traces are read at once. */
const atOnce = 8

/**
 * Tempo (grafana.com/docs/tempo, "Tempo HTTP API"): `GET /api/search` with TraceQL, times in seconds, finds traces, the first ones
 * it comes across; `GET /api/traces/{id}` gives each whole, as OTLP under `batches`.
 */
export const askTempo: AskStore = async (question, line) => {
  const window = { start: String(Math.floor(question.fromMs / 1_000)), end: String(Math.ceil(question.toMs / 1_000)) }
  const search = { q: traceqlFrom(question), ...window, limit: String(line.maxTraces), spss: '1' }
  const found = await getJson<{ traces?: readonly { traceID: string }[] }>(line, '/api/search', search)
  const ids = (found?.traces ?? []).map(({ traceID }) => traceID).filter((id) => /^[0-9a-f]{1,32}$/i.test(id))
  const spans: WitnessSpan[] = []
  let missing = 0
  for (let at = 0; at < ids.length; at += atOnce) {
    const read = await Promise.all(ids.slice(at, at + atOnce).map((id) => readTrace(id, question.service, line)))
    missing += read.filter((each) => each === undefined).length
    spans.push(...read.flatMap((each) => each ?? []))
  }
  const partial = ids.length >= line.maxTraces || missing > 0
  return { arms: countSpans(spans, question), traces: ids.length - missing, partial }
}

async function readTrace(id: string, service: string, line: StoreLine): Promise<WitnessSpan[] | undefined> {
  const trace = await getJson<{ batches?: readonly ResourceSpans[]; resourceSpans?: readonly ResourceSpans[] }>(
    line,
    `/api/traces/${id}`,
    {},
  )
  return trace && [...spansFromOtlpJson(trace.batches ?? trace.resourceSpans ?? [], service)]
}

/** Finds the spans of a question in TraceQL. */
export function traceqlFrom({ service, rollout, stage }: WitnessQuestion): string {
  const wanted = [
    `resource.service.name = ${JSON.stringify(service)}`,
    `span.foldgate.rollout = ${JSON.stringify(rollout)}`,
    `span.foldgate.stage = ${JSON.stringify(stage)}`,
  ]
  return `{ ${wanted.join(' && ')} }`
}
