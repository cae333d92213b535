import { errorHeaders } from '../../../plugins/errors.ts'
import type { Verdict } from '../../../plugins/verdict.ts'
import type { Answer } from './answer.ts'
import { answerLayer, type Finding, findingFrom, type SkipReason } from './comparison.ts'
import { type Difference, type DifferenceParts, differenceIn } from './difference.ts'
import { diffHeaders } from './header-diff.ts'
import { diffAnswers, type ResponseDiffOptions } from './response-diff.ts'

/** What one layer of ours has said of a call that the team's existing chain served. */
export interface LayerSaid {
  readonly kind: Verdict['kind']
  readonly code?: string
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** The model that routing has chosen. */
  readonly model?: string
}

/** A verdict of ours as {@link LayerSaid}. */
export function saidFromVerdict(verdict: Verdict): LayerSaid {
  if (verdict.kind === 'refuse') {
    const { error } = verdict
    return { kind: 'refuse', code: error.code, status: error.status, headers: errorHeaders(error) }
  }
  if (verdict.kind === 'answer') return { kind: 'answer', status: verdict.reply.status }
  const model = verdict.facts.target?.[0]?.model
  return { kind: 'pass', ...(model ? { model } : {}) }
}

/** One call: what the existing chain answered, what we would have, and what our layers said. */
export interface LegacyCase {
  readonly legacy: Answer
  /** Absent where we only observe. */
  readonly ours?: Answer
  readonly verdicts: Readonly<Record<string, LayerSaid>>
}

/** The status that we would have answered: the first refusal's, else the answer's. */
export function ourStatus({ ours, verdicts }: LegacyCase): number {
  const refusal = Object.values(verdicts).find(({ kind }) => kind === 'refuse')
  return ours?.status ?? refusal?.status ?? 200
}

/** How far each of our layers agrees with the existing chain on one call. Layers that said nothing are not in it; the whole is `answer`. */
export function legacyFindings(of: LegacyCase, options: ResponseDiffOptions = {}): Readonly<Record<string, Finding>> {
  const judges: Readonly<Record<string, () => Finding>> = {
    auth: () => authFinding(of),
    'rate-limit': () => (deniedByAuth(of) ? skipped('not-reached') : limitFinding(of, options)),
    cache: () => (isServed(of) ? cacheFinding(of) : skipped('not-reached')),
    routing: () => (isServed(of) ? routingFinding(of) : skipped('not-reached')),
    prompt: () => (isServed(of) ? promptFinding(of) : skipped('not-reached')),
    postprocess: () => (isServed(of) ? postprocessFinding(of, options) : skipped('not-reached')),
  }
  const failed = of.legacy.status >= 500
  const said = Object.keys(of.verdicts).flatMap((layer) => {
    const judge = judges[layer]
    return judge ? [[layer, failed ? skipped('failed') : judge()] as const] : []
  })
  return { ...Object.fromEntries(said), [answerLayer]: failed ? skipped('failed') : answerFinding(of, options) }
}

function skipped(reason: SkipReason): Finding {
  return { verdict: 'skipped', reason }
}

const denials: ReadonlySet<number> = new Set([401, 403])

function deniedByAuth({ legacy, verdicts }: LegacyCase): boolean {
  return denials.has(legacy.status) || verdicts['auth']?.kind === 'refuse'
}

/** Both sides have let the call through to an answer. */
function isServed(of: LegacyCase): boolean {
  const { auth, 'rate-limit': limit } = of.verdicts
  return of.legacy.status < 400 && auth?.kind !== 'refuse' && limit?.kind !== 'refuse'
}

function found(layer: string, parts: Partial<DifferenceParts> & Pick<DifferenceParts, 'kind' | 'kinds'>): Finding {
  return findingFrom([differenceIn(layer, { class: 'H', ...parts })])
}

const equal: Finding = { verdict: 'equal' }

function authFinding({ legacy, verdicts }: LegacyCase): Finding {
  const ours = verdicts['auth']
  const refuses = ours?.kind === 'refuse'
  const codes = [String(legacy.status), String(refuses ? (ours?.status ?? '') : '')] as const
  const legacyRefuses = denials.has(legacy.status)
  const kinds = [legacyRefuses ? 'refuse' : 'pass', refuses ? 'refuse' : 'pass'] as const
  if (legacyRefuses && !refuses)
    return found('auth', { kind: 'verdict', path: 'kind', kinds, codes, f1: 'auth-false-allow' })
  // What answers 404 or 400 before it asks who is there has said nothing of the caller.
  if (refuses && legacy.status >= 400 && !legacyRefuses) return skipped('not-reached')
  if (legacyRefuses !== refuses) return found('auth', { kind: 'verdict', path: 'kind', kinds, codes })
  return codes[0] === codes[1] || !refuses ? equal : found('auth', { kind: 'code', path: 'status', kinds, codes })
}

const limitHeader = /ratelimit|^retry-after$/

function limitFinding({ legacy, ours, verdicts }: LegacyCase, options: ResponseDiffOptions): Finding {
  const said = verdicts['rate-limit']
  const kinds = [legacy.status === 429 ? 'refuse' : 'pass', said?.kind === 'refuse' ? 'refuse' : 'pass'] as const
  const codes = [String(legacy.status), String(said?.status ?? '')] as const
  if (kinds[0] !== kinds[1]) return found('rate-limit', { kind: 'verdict', path: 'kind', kinds, codes })
  const headers = ours?.headers ?? said?.headers ?? {}
  if (!Object.keys(headers).some((name) => limitHeader.test(name))) return equal
  const only = (all: Answer['headers']): Answer['headers'] =>
    Object.fromEntries(Object.entries(all).filter(([name]) => limitHeader.test(name)))
  return findingFrom(diffHeaders(only(legacy.headers), only(headers), { ...options, layer: 'rate-limit' }))
}

/** Each side has a store of its own, so a hit here and a miss there is no fault of the rule; but how often it is so is worth knowing. */
function cacheFinding({ legacy, verdicts }: LegacyCase): Finding {
  const theirs = cacheStateIn(legacy)
  if (!theirs) return skipped('no-essence')
  const ours = verdicts['cache']?.kind === 'answer' ? 'hit' : 'miss'
  return theirs === ours ? equal : found('cache', { class: 'S', kind: 'verdict', path: 'cache', kinds: [theirs, ours] })
}

/** Names under which gateways and CDNs say it; `Cache-Status` is RFC 9211. */
const cacheHeaders =
  /^(cache-status|x-cache|x-cache-status|x-cache-hit|cf-cache-status|helicone-cache|x-[a-z]+-cache(-status|-hit)?)$/

function cacheStateIn({ headers }: Answer): 'hit' | 'miss' | undefined {
  const said = Object.entries(headers).filter(([name]) => cacheHeaders.test(name))
  if (said.length === 0) return undefined
  return said.some(([, value]) => /\b(hit|true)\b/i.test(String(value))) ? 'hit' : 'miss'
}

function routingFinding({ legacy, verdicts }: LegacyCase): Finding {
  const theirs = (legacy.body as { readonly model?: unknown } | null)?.model
  const ours = verdicts['routing']?.model
  if (verdicts['routing']?.kind === 'refuse')
    return found('routing', { kind: 'verdict', path: 'kind', kinds: ['pass', 'refuse'] })
  if (typeof theirs !== 'string' || ours === undefined) return skipped('no-essence')
  if (modelName(theirs) === modelName(ours)) return equal
  return found('routing', { kind: 'value', path: 'body.model', kinds: ['string', 'string'] })
}

/** Without the provider in front and the day of the snapshot behind. */
function modelName(model: string): string {
  return model.replace(/^.*\//, '').replace(/-\d{4}-?\d{2}-?\d{2}$/, '')
}

const ofPrompt = /^body\.usage\.(prompt_tokens|input_tokens)$/
const ofRouting = /^body\.model$/

function promptFinding(of: LegacyCase): Finding {
  if (of.verdicts['prompt']?.kind === 'refuse')
    return found('prompt', { kind: 'verdict', path: 'kind', kinds: ['pass', 'refuse'] })
  if (!of.ours) return skipped('no-essence')
  return findingFrom(differencesFor('prompt', of).filter(({ path }) => ofPrompt.test(path ?? '')))
}

function postprocessFinding(of: LegacyCase, options: ResponseDiffOptions): Finding {
  const { ours, verdicts } = of
  if (verdicts['postprocess']?.kind === 'refuse') {
    return found('postprocess', { kind: 'verdict', path: 'kind', kinds: ['pass', 'refuse'] })
  }
  if (!ours) return skipped('no-essence')
  const rest = differencesFor('postprocess', of, options)
  return findingFrom(rest.filter(({ path = '' }) => !ofPrompt.test(path) && !ofRouting.test(path)))
}

function differencesFor(
  layer: string,
  { legacy, ours }: LegacyCase,
  options: ResponseDiffOptions = {},
): readonly Difference[] {
  return ours ? diffAnswers(legacy, ours, { ...options, headers: false, layer }) : []
}

function answerFinding(of: LegacyCase, options: ResponseDiffOptions): Finding {
  if (of.ours) return findingFrom(diffAnswers(of.legacy, of.ours, options))
  const classes = [statusClass(of.legacy.status), statusClass(ourStatus(of))] as const
  return classes[0] === classes[1]
    ? equal
    : found(answerLayer, { kind: 'value', path: 'status', kinds: ['number', 'number'], codes: classes })
}

/** `401`, `403` and `429` say which layer spoke; of the others the class is enough. */
export function statusClass(status: number): string {
  return denials.has(status) || status === 429 ? String(status) : `${Math.floor(status / 100)}xx`
}
