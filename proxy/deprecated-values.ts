import { essenceDigest, type LayerMember } from '../plugins/acknowledgement.ts'
import { layers as allLayers } from '../plugins/index.ts'
import type { Layer } from '../plugins/layer.ts'
import type { Head } from './answer.ts'
import type { CallRecord } from './call-record.ts'
import type { HeardVerdict, Overheard } from './overheard.ts'

/** The old headers that there are, each under the configured prefix. A closed list. */
export const deprecatedNames = [
  'auth-status',
  'rate-limit-remaining',
  'cache-hit',
  'cache-key',
  'model-router-decision',
  'template-engine-version',
  'postprocess-status',
] as const

/** One of {@link deprecatedNames}. */
export type DeprecatedName = (typeof deprecatedNames)[number]

/** What the values of old headers are taken from. */
export interface ValueSources {
  readonly record: CallRecord
  readonly overheard: Overheard
  /** The head of the answer as layers and runner made it. */
  readonly head: Head
}

/** One layer's part in a call: acknowledged by the runner, or said here; neither where it was not reached. */
interface Part {
  readonly there?: LayerMember
  readonly here?: HeardVerdict
}

/** The value of an old header; undefined where its layer was not reached or nobody knows. */
export function deprecatedValue(name: DeprecatedName, sources: ValueSources): string | undefined {
  const [layer, value] = values[name]
  const part = partOf(layer, sources)
  return part && value(part, sources)
}

/** Where the runner decides, its word counts and nobody else's; else whoever was asked here has decided. */
function partOf(layer: string, { record: { fold }, overheard }: ValueSources): Part | undefined {
  if (fold?.modes.get(layer) === 'enforce') {
    const there = fold.said?.acknowledgement.layers[layer]
    return there && { there }
  }
  const here = overheard.verdicts.get(layer)
  return here && { here }
}

type ValueOf = (part: Part, sources: ValueSources) => string | undefined

const values: Readonly<Record<DeprecatedName, readonly [layer: string, value: ValueOf]>> = {
  'auth-status': ['auth', authStatus],
  'rate-limit-remaining': ['rate-limit', remaining],
  'cache-hit': ['cache', ({ there, here }) => String((there?.o ?? here?.verdict.kind) === 'answer')],
  'cache-key': ['cache', cacheKey],
  'model-router-decision': ['routing', routerDecision],
  'template-engine-version': ['prompt', templateVersion],
  'postprocess-status': ['postprocess', postprocessStatus],
}

function authStatus({ there, here }: Part, { overheard }: ValueSources): string {
  if ((there?.o ?? here?.verdict.kind) === 'refuse') return 'refused'
  return overheard.principal?.method === 'anonymous' ? 'anonymous' : 'authenticated'
}

const remainingHeaders = [
  'x-ratelimit-remaining-tokens',
  'anthropic-ratelimit-tokens-remaining',
  'x-ratelimit-remaining-requests',
  'anthropic-ratelimit-requests-remaining',
]

/** Tokens, or requests where only those are limited. */
function remaining({ there }: Part, { head }: ValueSources): string | undefined {
  if (there?.rem !== undefined) return String(there.rem)
  return remainingHeaders.map((name) => head.headers[name]).find((value) => value !== undefined)
}

const judgeOfKeys = (allLayers as readonly Layer[]).find(({ name }) => name === 'cache')?.native?.essence

/** The digest of the key in hex, the same on either side; none for an answer that has no key. */
function cacheKey({ there, here }: Part, { head }: ValueSources): string | undefined {
  if (/;\s*fwd=bypass/.test(head.headers['cache-status'] ?? '')) return undefined
  const digest = there ? there.e : here && digestOfKey(here)
  return digest === undefined ? undefined : Buffer.from(digest, 'base64').toString('hex')
}

function digestOfKey({ verdict, call }: HeardVerdict): string | undefined {
  const key = judgeOfKeys?.(verdict, call)
  return typeof key === 'object' && key !== null && 'digest' in key ? essenceDigest(key) : undefined
}

/** The runner and, where it was chosen here, the model of the last try. */
function routerDecision(_: Part, { record }: ValueSources): string | undefined {
  const target = record.attempts.at(-1)?.target
  return target && printable(target.model ? `${target.runner}/${target.model}` : target.runner)
}

/** The version of the template that was rendered; only the gateway's own half tells. */
function templateVersion({ here }: Part): string | undefined {
  const template = here?.verdict.kind === 'pass' ? here.verdict.facts.template : undefined
  return template && printable(template.version)
}

/** An answer that failed of something else never came to it. */
function postprocessStatus({ there }: Part, { record, head }: ValueSources): string | undefined {
  if (there?.o === 'armed') return 'armed'
  if (there) return there.o === 'refuse' || there.o === 'failed' ? 'failed' : 'ok'
  if (head.status >= 400) return head.status === 422 ? 'failed' : undefined
  return record.streamed ? 'armed' : 'ok'
}

function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?')
}
