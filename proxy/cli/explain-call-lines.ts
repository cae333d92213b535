import type { CallStory, FoldedLayerPart, FoldPart } from '../admin/stories.ts'
import { factLine, tableFromRows } from './output.ts'

/** A call for people: what came out, what every layer said here and at the runner, and which runners were tried. */
export function linesFromCall(call: CallStory, color: boolean): string {
  const { tokens, fold } = call
  const facts: [string, string | undefined][] = [
    ['request', call.requestId],
    ['call', call.id],
    ['at', new Date(call.at).toISOString()],
    ['route', call.route],
    ['answer', `${call.status} from ${call.source}${call.error ? ` (${call.error})` : ''}`],
    ['tenant', call.tenant],
    ['took', `${ms(call.totalMs)}, first byte ${ms(call.firstByteMs)}, runner ${ms(call.runnerMs)}`],
    ['tokens', tokens && `${tokens.input ?? '?'} in, ${tokens.output ?? '?'} out`],
    ['asked', call.directiveFault && `execution_context is not valid at ${call.directiveFault}`],
    ...(fold ? factsFromFold(fold) : []),
  ]
  const layers = call.layers.map(({ name, verdict, mode, decideMs, settleMs }) => [
    name,
    mode === 'observe' ? `${verdict} (observed)` : verdict,
    ms(decideMs),
    ms(settleMs),
  ])
  const attempts = call.attempts.map(({ runner, model, startMs, endMs, status, error }) => [
    runner,
    model,
    ms(startMs),
    endMs === undefined ? '–' : ms(endMs - startMs),
    error ?? (status === undefined ? '–' : String(status)),
  ])
  return [
    ...facts.flatMap(([name, text]) => (text ? [factLine(name, text)] : [])),
    ...table(['LAYER', 'VERDICT', 'IN', 'BACK'], layers, color),
    ...table(['AT RUNNER', 'STAGE', 'MODE', 'OUTCOME', 'TOOK', 'ESSENCE', 'FALLBACK'], foldedRows(fold), color),
    ...table(['RUNNER', 'MODEL', 'AFTER', 'TOOK', 'OUTCOME'], attempts, color),
  ].join('\n')
}

function factsFromFold({ boot, policy, sends, reason }: FoldPart): [string, string | undefined][] {
  const times = sends === 1 ? 'once' : `${sends} times`
  const sent = sends === 0 ? 'not sent with a context' : `sent with a context ${times}`
  const said = boot === undefined ? 'not acknowledged' : `acknowledged by ${boot}`
  return [
    ['folded', `${sent}, ${said}`],
    ['policy', policy],
    ['fallback', reason],
  ]
}

function foldedRows(fold: FoldPart | undefined): string[][] {
  return (fold?.layers ?? []).map((part) => [
    part.name,
    part.stage ?? 'gateway',
    part.mode ?? '–',
    outcomeOf(part),
    part.us === undefined ? '–' : `${part.us} µs`,
    part.essence ?? '–',
    part.fallback ?? '–',
  ])
}

function outcomeOf({ outcome, code, unacknowledged }: FoldedLayerPart): string {
  const said = outcome === undefined ? '–' : code === undefined ? outcome : `${outcome} ${code}`
  return unacknowledged ? `${said}, end not acknowledged` : said
}

const table = (head: readonly string[], rows: readonly (readonly string[])[], color: boolean): string[] =>
  rows.length > 0 ? ['', tableFromRows(head, rows, color)] : []

const ms = (value: number | undefined): string =>
  value === undefined ? '–' : `${value.toFixed(value < 10 ? 2 : 0)} ms`
