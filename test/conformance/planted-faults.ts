import { randomBytes } from 'node:crypto'
import { essenceDigest } from '../../plugins/acknowledgement.ts'
import { type Capabilities, withDigest } from '../../plugins/capabilities.ts'
import { bodyDigest } from '../../plugins/execution-context.ts'
import { problemFromRefusal } from '../../plugins/execution-context-refusal.ts'
import type { Section } from './case.ts'
import type { PlantedFault } from './faulty-runner.ts'

/** A fault, and the case that must catch it. */
export interface Planted extends PlantedFault {
  /** What the runner does, as a fact. */
  readonly does: string
  readonly section: Section
  readonly caught: string
}

const without = <T extends object>(headers: T, name: string): T =>
  Object.fromEntries(Object.entries(headers).filter(([each]) => each !== name)) as T
let old: string | undefined

/** Runners that each do one thing wrong. */
export const plantedFaults: readonly Planted[] = [
  {
    does: 'leaves the trailer of streams out',
    section: 'acknowledgement',
    caught: 'a stream is acknowledged in its header and, under the right mac, in the trailer',
    answer: (coming) => ({ ...coming, trailers: {} }),
  },
  {
    does: 'has an outcome changed on the way, by somebody without the key',
    section: 'acknowledgement',
    caught: 'an answer is acknowledged in its header, each layer with mode and version, under the right mac',
    answer: (coming) => {
      const { 'x-layer-ack': text = '' } = coming.headers
      return text === ''
        ? coming
        : { ...coming, headers: { ...coming.headers, 'x-layer-ack': text.replace('o=pass', 'o=armed') } }
    },
  },
  {
    does: 'answers and does not acknowledge',
    section: 'acknowledgement',
    caught: 'an answer is acknowledged in its header, each layer with mode and version, under the right mac',
    answer: (coming) => ({ ...coming, headers: without(coming.headers, 'x-layer-ack') }),
  },
  {
    does: 'acknowledges every call as it did the first',
    section: 'acknowledgement',
    caught: 'a layer that decides and refuses says so with its code, and nobody further in is asked',
    answer: (coming) => {
      old ??= coming.headers['x-layer-ack']
      return old === undefined ? coming : { ...coming, headers: { ...coming.headers, 'x-layer-ack': old } }
    },
  },
  {
    does: 'asks layers further in although one has refused',
    section: 'acknowledgement',
    caught: 'a layer that decides and refuses says so with its code, and nobody further in is asked',
    answer: (coming, passing, { reseal }) =>
      reseal(coming, passing, (said) => {
        const { modes = {} } = passing.context ?? {}
        const passed = Object.keys(modes).map(
          (name) => [name, { v: 1, m: modes[name] ?? 'enforce', o: 'pass' }] as const,
        )
        return { ...said, layers: { ...Object.fromEntries(passed), ...said.layers } }
      }),
  },
  {
    does: 'counts one token too many',
    section: 'acknowledgement',
    caught: 'a whole answer tells the tokens that were used, as the caller is told them',
    answer: (coming, passing, { reseal }) =>
      reseal(coming, passing, ({ usage, ...said }) => ({
        ...said,
        ...(usage ? { usage: { ...usage, out: (usage.out ?? 0) + 1 } } : {}),
      })),
  },
  {
    does: 'does not look at the digest of the body',
    section: 'contexts',
    caught: 'a context that was signed for another body is refused: body',
    request: (passing, { resign }) => resign(passing, { bod: bodyDigest(passing.body) }),
  },
  {
    does: 'takes a call twice',
    section: 'contexts',
    caught: 'the very same call is taken once',
    request: (passing, { resign }) => resign(passing, { id: randomBytes(16).toString('hex') }),
    answer: (coming, passing, { reseal }) =>
      reseal(coming, passing, (said) => ({ ...said, runner: { ...said.runner, id: passing.context?.id ?? '' } })),
  },
  {
    does: 'looks at times before it looks at the audience',
    section: 'contexts',
    caught: 'of two faults the one that is checked first names the code',
    instead({ context }) {
      if (!context || context.exp > Date.now() / 1_000 - 40) return 'forward'
      const { status, headers, body } = problemFromRefusal({ code: 'expired', detail: 'exp is past' })
      return { status, headers, text: body, trailers: {} }
    },
  },
  {
    does: 'refuses contexts with a problem that does not say so',
    section: 'contexts',
    caught: 'a context for another instance is refused: audience',
    answer: ({ headers, ...coming }) => ({
      ...coming,
      headers: coming.status < 400 ? headers : { ...headers, 'content-type': 'application/json' },
    }),
  },
  {
    does: 'registers a policy under its own digest, whatever the URL says',
    section: 'policies',
    caught: 'a policy under the URL of another one is refused',
    request: (passing) => {
      const [, payload = ''] = passing.method === 'PUT' ? passing.body.toString().split('.') : []
      const pol = /"pol":"([0-9a-f]{64})"/.exec(Buffer.from(payload, 'base64url').toString())?.[1]
      return pol === undefined ? passing : { ...passing, path: passing.path.replace(/[^/]+$/, pol) }
    },
  },
  {
    does: 'offers postprocess and lets everything pass',
    section: 'laws',
    caught: 'postprocess: a schema of the caller that is wrong is refused',
    answer: (coming, passing, { reseal }) =>
      reseal(coming, passing, (said) => {
        const { postprocess } = said.layers
        if (!postprocess) return said
        const { code: _, ...rest } = postprocess
        const passed = { ...rest, o: 'pass', e: essenceDigest({ kind: 'pass' }) } as const
        return { ...said, layers: { ...said.layers, postprocess: passed } }
      }),
  },
  {
    does: 'says the right outcome of another verdict',
    section: 'laws',
    caught: "prompt: a template names the caller's tenant",
    answer: (coming, passing, { reseal }) =>
      reseal(coming, passing, (said) => {
        const { prompt } = said.layers
        return prompt ? { ...said, layers: { prompt: { ...prompt, e: essenceDigest({ kind: 'pass' }) } } } : said
      }),
  },
  {
    does: 'offers a model that its digest does not know',
    section: 'capabilities',
    caught: 'caps is the digest of the document',
    answer: (coming, { path }) =>
      path.endsWith('/execution-context')
        ? { ...coming, text: coming.text.replace('"models":[', '"models":[{"id":"more","contextTokens":1},') }
        : coming,
  },
  {
    does: 'serves whoever comes without a key',
    section: 'plain',
    caught: 'a call with neither a context nor the API key is refused',
    request: (passing) => ({ ...passing, headers: { ...passing.headers, authorization: `Bearer ${'a'.repeat(32)}` } }),
  },
  {
    does: 'breaks the connection when it is asked for a decision',
    section: 'decide',
    caught: 'a decision is an acknowledgement of every named layer, and nothing else',
    instead: ({ path }) => (path.endsWith('/decide') ? undefined : 'forward'),
  },
  {
    does: 'answers with nonsense',
    section: 'capabilities',
    caught: 'the document is there for everybody, and holds to its schema',
    instead: () => ({ status: 200, headers: { 'content-type': 'text/html' }, text: '<html>', trailers: {} }),
  },
]

/** No fault: a runner that offers some layers only. */
export function offering(names: readonly string[]): PlantedFault {
  let caps = ''
  return {
    answer(coming, passing, { reseal }) {
      if (!passing.path.endsWith('/execution-context'))
        return reseal(coming, passing, (said, part) =>
          part === 'head' ? { ...said, runner: { ...said.runner, caps } } : said,
        )
      const all = JSON.parse(coming.text) as Capabilities
      const layers = Object.fromEntries(Object.entries(all.layers).filter(([name]) => names.includes(name)))
      const some = withDigest({ ...all, layers })
      caps = some.caps
      return { ...coming, text: JSON.stringify(some) }
    },
  }
}
