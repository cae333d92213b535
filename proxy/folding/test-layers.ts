import { gatewayError } from '../../plugins/errors.ts'
import { defineLayer, type Layer, type Probe } from '../../plugins/layer.ts'
import { createSchema } from '../../plugins/schema.ts'
import { pass, refuse } from '../../plugins/verdict.ts'

/** What the tests' layers are configured with. */
export interface WordsConfig {
  readonly words?: readonly string[]
  readonly termsFile?: string
  readonly secretFile?: string
  readonly fixed?: boolean
}

/** What they fold into. */
export interface WordsStep {
  readonly words: readonly string[]
  readonly terms?: string
  readonly secret?: string
}

const probes: readonly Probe<WordsStep>[] = [
  { title: 'a call without the word passes', step: { words: ['no'] }, body: { model: 'm' }, expect: { o: 'pass' } },
  {
    title: 'a call with the word is refused',
    step: { words: ['no'] },
    body: { model: 'm', say: 'no' },
    expect: { o: 'refuse', code: 'forbidden' },
  },
]

/** What a test changes of a {@link wordsLayer}. */
export interface WordsLayerInit {
  readonly routes?: Layer['routes']
  readonly version?: number
  readonly stateful?: boolean
  readonly probes?: readonly Probe<WordsStep>[]
}

/** A small layer that refuses calls with one of its words in the body. */
export function wordsLayer(name: string, init: WordsLayerInit = {}): Layer {
  const act = ({ words }: WordsStep) => ({
    decide: (call: { readonly body: Buffer }) =>
      words.some((word) => call.body.includes(`"${word}"`)) ? refuse(gatewayError('forbidden', 'a word')) : pass(),
  })
  const object = { type: 'object' }
  return defineLayer<string, WordsConfig, WordsStep>({
    name,
    reads: ['principal'],
    writes: [],
    answers: false,
    rewrites: false,
    meters: false,
    routes: init.routes ?? ['chat'],
    config: createSchema<WordsConfig>(object),
    open: ({ words = [] }) => act({ words }),
    stays: ({ fixed }) => (fixed ? 'it is fixed here' : undefined),
    fold: ({ words = [], termsFile, secretFile }, source) => ({
      words: [...words].sort(),
      ...(termsFile ? { terms: source.file(termsFile).toString('utf8') } : {}),
      ...(secretFile ? { secret: source.secret(secretFile) } : {}),
    }),
    native: {
      version: init.version ?? 1,
      step: createSchema<WordsStep>(object),
      stateful: init.stateful ?? false,
      probes: init.probes ?? probes,
      act,
      inspect: ({ secret }) =>
        secret
          ? { status: 'refused', code: 'UNRESOLVED_REF', path: 'secret', try: 'put it there' }
          : { status: 'compiled' },
    },
  })
}

/** A small layer that knows one bearer token. */
export const badgeLayer: Layer = defineLayer<'badge', object, { readonly token: string }>({
  name: 'badge',
  reads: [],
  writes: ['principal'],
  answers: false,
  rewrites: false,
  meters: false,
  routes: ['chat', 'embeddings'],
  config: createSchema<object>({ type: 'object' }),
  open: () => ({}),
  fold: () => ({ token: 'good' }),
  native: {
    version: 3,
    step: createSchema<{ readonly token: string }>({ type: 'object' }),
    stateful: false,
    credentials: () => ['authorization'],
    act: ({ token }) => ({
      decide: ({ headers }) =>
        headers['authorization'] === `Bearer ${token}` ? pass() : refuse(gatewayError('unauthenticated', 'who is it?')),
    }),
    probes: [
      {
        title: 'the right token passes',
        step: { token: 'good' },
        body: {},
        headers: { authorization: 'Bearer good' },
        expect: { o: 'pass' },
      },
      {
        title: 'no token is refused',
        step: { token: 'good' },
        body: {},
        expect: { o: 'refuse', code: 'unauthenticated' },
      },
    ],
  },
})
