import { GatewayError } from '../../plugins/errors.ts'
import { type HeaderNames, headerNames } from '../../plugins/headers.ts'
import { type EdgeHop, type Trial, type TrialAnswer, tryOnce } from './examine-edge-ask.ts'
import { isOurs, type Loss, lossesIn, standard, tellingMs } from './examine-edge-losses.ts'
import { productFromHeaders, recipeFor } from './examine-edge-recipes.ts'
import { broken, doubtful, type Finding, fine } from './finding.ts'

/** Ways to a gateway that are compared. */
export interface EdgeQuestion {
  /** Base URLs that lead through one edge or several, outermost first. */
  readonly vias: readonly string[]
  /** Base URL of the gateway itself. */
  readonly direct: string
  readonly apiKey: string | undefined
  /** Default: the first that the gateway lists. */
  readonly model: string | undefined
}

const listing: Trial = { title: 'the list of models', kind: 'models', method: 'GET', path: '/v1/models' }
// The gateway refuses it by itself: no layer and no runner is asked.
const refusal: Trial = {
  title: 'a refused request',
  kind: 'refusal',
  method: 'POST',
  path: '/v1/models',
  body: () => ({}),
}

function chats(model: string): Trial[] {
  const chat = { method: 'POST', path: '/v1/chat/completions' } as const
  // No two alike: a stored answer would come at once, and tell nothing of buffers.
  const asked = (nonce: string, more: object) => ({
    model,
    messages: [{ role: 'user', content: `Count from one to ten in words. This is check ${nonce}.` }],
    ...more,
  })
  return [
    { ...chat, title: 'a chat', kind: 'chat', body: (nonce) => asked(nonce, { max_tokens: 1 }) },
    {
      ...chat,
      title: 'a streamed chat',
      kind: 'stream',
      body: (nonce) => asked(nonce, { max_tokens: 16, stream: true }),
    },
  ]
}

/** Makes the same cheap requests directly and through each edge, and says what is lost where and what to do about it. */
export async function examineEdge(question: EdgeQuestion): Promise<Finding[]> {
  const { direct, apiKey } = question
  const check = `gateway ${shown(direct)}`
  try {
    const first = await tryOnce({ url: direct, apiKey, names: undefined }, listing)
    const prefix = prefixFrom(first)
    if (prefix === undefined)
      return [broken(check, 'says no layer-status', 'name the data port of the gateway itself with --direct')]
    const model = question.model ?? firstModel(first)
    const names = headerNames(prefix)
    const trials = [listing, refusal, ...(model === undefined ? [] : chats(model))]
    const straight = await tryAll({ url: direct, apiKey, names }, trials)
    const hops = []
    for (const url of question.vias) hops.push({ url, tried: await tryAll({ url, apiKey, names }, trials) })
    return [...doubtsAbout(check, straight, model), ...findingsFrom({ hops, straight, names })]
  } catch (reason) {
    if (!(reason instanceof GatewayError)) throw reason
    return [broken(check, reason.message, 'name the data port of the gateway itself with --direct')]
  }
}

/** What stands before `layer-status` in an answer's header of that name. */
function prefixFrom({ headers }: TrialAnswer): string | undefined {
  return Object.keys(headers).flatMap((name) => /^(.*)layer-status$/.exec(name)?.[1] ?? [])[0]
}

function firstModel({ text }: TrialAnswer): string | undefined {
  try {
    const { data } = JSON.parse(text) as { data?: readonly { id?: unknown }[] }
    const id = data?.[0]?.id
    return typeof id === 'string' ? id : undefined
  } catch {
    return undefined
  }
}

/** One trial as it went: an answer, or why there was none. */
type Tried = { readonly trial: Trial } & ({ readonly answer: TrialAnswer } | { readonly failed: string })

/** One after another, so that times mean something. */
async function tryAll(hop: EdgeHop, trials: readonly Trial[]): Promise<Tried[]> {
  const tried: Tried[] = []
  for (const trial of trials) {
    try {
      tried.push({ trial, answer: await tryOnce(hop, trial) })
    } catch (reason) {
      if (!(reason instanceof GatewayError)) throw reason
      tried.push({ trial, failed: reason.message })
    }
  }
  return tried
}

/** What could not be tried, or not be told from. */
function doubtsAbout(check: string, straight: readonly Tried[], model: string | undefined): Finding[] {
  const unknown = model === undefined
  const doubts = unknown ? [doubtful(check, 'lists no model: no chat was tried', 'name one with --model')] : []
  for (const tried of straight) {
    const { trial } = tried
    if ('failed' in tried) doubts.push(doubtful(check, `${trial.title}: ${tried.failed}`, 'put this right first'))
    else if (trial.kind !== 'refusal' && tried.answer.status >= 400) {
      const { status } = tried.answer
      const next = status === 401 ? 'pass a key with --api-key-file' : 'put this right first, or name another --model'
      doubts.push(doubtful(check, `answers ${trial.title} with ${status}, also directly`, next))
    } else if (trial.kind === 'stream' && tried.answer.lastMs - tried.answer.firstMs < tellingMs)
      doubts.push(
        doubtful(check, 'streams too fast to tell whether an edge holds events back', 'name a larger --model'),
      )
  }
  return doubts
}

interface Hop {
  readonly url: string
  readonly tried: readonly Tried[]
}

interface Compared {
  readonly hops: readonly Hop[]
  readonly straight: readonly Tried[]
  readonly names: HeaderNames
}

/** A loss belongs to the innermost hop that shows it: from there on outward it cannot be there. */
function findingsFrom({ hops, straight, names }: Compared): Finding[] {
  const found = hops.map((hop) => ({ hop, ...lossesAt(hop, { straight, names }) }))
  return found.flatMap(({ hop, losses, failures }, index): Finding[] => {
    const check = `edge ${shown(hop.url)}`
    const inward = new Set(found.slice(index + 1).flatMap((inner) => [...inner.losses.keys()]))
    const own = [...losses].filter(([key]) => !inward.has(key)).map(([, loss]) => loss)
    const product = hop.tried.flatMap((each) =>
      'answer' in each ? (productFromHeaders(each.answer.headers) ?? []) : [],
    )[0]
    const broke = failures.map((words) => broken(check, words, 'is it up, and does it lead to this gateway?'))
    const lost = own.map(({ kind, name, words }) => broken(check, words, recipeFor(kind, product, name)))
    if (broke.length + lost.length > 0) return [...broke, ...lost]
    const further = losses.size > 0 ? 'loses nothing beyond what is lost further in' : 'passes everything on'
    return [fine(check, `${further}: ${passedOn(hop, names)}`)]
  })
}

interface LossesAt {
  /** By kind and header, each once whichever trials show it. */
  readonly losses: ReadonlyMap<string, Loss>
  readonly failures: readonly string[]
}

function lossesAt({ tried }: Hop, { straight, names }: Omit<Compared, 'hops'>): LossesAt {
  const losses = new Map<string, Loss>()
  const failures: string[] = []
  for (const [index, each] of tried.entries()) {
    const direct = straight[index]
    if (!direct || 'failed' in direct) continue
    if ('failed' in each) {
      failures.push(`${each.trial.title}: ${each.failed}`)
      continue
    }
    for (const loss of lossesIn({ trial: each.trial, direct: direct.answer, via: each.answer, names })) {
      const key = `${loss.kind} ${loss.name ?? ''}`
      if (!losses.has(key)) losses.set(key, loss)
    }
  }
  return { losses, failures }
}

/** The headers that came through, and those that no answer had, so that nothing can be said of them. */
function passedOn({ tried }: Hop, names: HeaderNames): string {
  const all = tried.flatMap((each) => ('answer' in each ? Object.keys(each.answer.headers) : []))
  const seen = [...new Set(all)].filter((name) => isOurs(name, names)).sort()
  const unseen = standard.filter((name) => !seen.includes(name))
  return `${seen.join(', ')}${unseen.length > 0 ? ` (no answer had ${unseen.join(', ')})` : ''}`
}

/** A URL without what may be secret in it. */
function shown(url: string): string {
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname === '/' ? '' : pathname}`
}
