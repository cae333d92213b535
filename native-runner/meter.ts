import type { Load, Piece } from './engine.ts'

/** What a runner counts about itself, as Prometheus reads it. */
export interface Meter {
  /** Counts one answered request. */
  answered(route: string, status: number): void
  /** Passes pieces on and counts their tokens, also those of answers nobody waited for. */
  counted(pieces: AsyncIterable<Piece>): AsyncIterable<Piece>
  /** Counts the prompt tokens of calls that make no answer, such as embeddings. */
  prompted(tokens: number): void
  /** Counts something of a closed list. */
  noted(what: Noted, label: string, by?: number): void
  /** Cached share of all prompt tokens since the start, 0 to 1; undefined before the first. */
  hitRate(): number | undefined
  /** The text exposition format, version 0.0.4. */
  text(load: Load): string
}

/** What {@link Meter.noted} counts, each with the one label that tells its kinds apart. */
const noted = {
  foldgate_runner_context_refusals_total: 'code',
  foldgate_runner_acknowledgements_total: 'part',
  foldgate_runner_policy_steps_total: 'result',
  foldgate_runner_layer_events_total: 'what',
} as const

/** A counter of the closed list above. */
export type Noted = keyof typeof noted

const about = {
  foldgate_runner_requests_total: ['counter', 'Requests answered, by route and status.'],
  foldgate_runner_running: ['gauge', 'Calls generating now.'],
  foldgate_runner_queued: ['gauge', 'Calls waiting for a place.'],
  foldgate_runner_tokens_total: [
    'counter',
    'Tokens read (prompt), read from the KV cache (cached) and made (completion).',
  ],
  foldgate_kv_cache_hit_ratio: ['gauge', 'Cached share of all prompt tokens since the start, 0 to 1.'],
  foldgate_runner_context_refusals_total: ['counter', 'Execution contexts that were refused, by code.'],
  foldgate_runner_acknowledgements_total: ['counter', 'Acknowledgements given, by part (head, end).'],
  foldgate_runner_policy_steps_total: ['counter', 'Steps of policies, by what compiling them came to.'],
  foldgate_runner_layer_events_total: ['counter', 'What layers counted, by kind.'],
} as const

function family(name: keyof typeof about, samples: readonly (readonly [labels: string, value: number])[]): string {
  const [type, help] = about[name]
  const lines = samples.map(([labels, value]) => `${name}${labels} ${value}`)
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines].join('\n')
}

/** A meter at zero. */
export function createMeter(): Meter {
  const requests = new Map<string, number>()
  const tokens = { prompt: 0, cached: 0, completion: 0 }
  const hitRate = (): number | undefined => (tokens.prompt > 0 ? tokens.cached / tokens.prompt : undefined)
  const notes = new Map<string, Map<string, number>>(Object.keys(noted).map((name) => [name, new Map()]))
  async function* counted(pieces: AsyncIterable<Piece>): AsyncGenerator<Piece> {
    let made = 0
    try {
      for await (const piece of pieces) {
        if (piece.kind === 'delta') made += piece.tokens
        if (piece.kind === 'usage') {
          made = piece.usage.completion_tokens
          tokens.prompt += piece.usage.prompt_tokens
          tokens.cached += piece.usage.prompt_tokens_details?.cached_tokens ?? 0
        }
        yield piece
      }
    } finally {
      tokens.completion += made
    }
  }
  return {
    answered(route, status) {
      const labels = `{route="${route}",code="${status}"}`
      requests.set(labels, (requests.get(labels) ?? 0) + 1)
    },
    counted,
    prompted(count) {
      tokens.prompt += count
    },
    noted(what, label, by = 1) {
      const labels = `{${noted[what]}="${label}"}`
      const counts = notes.get(what) as Map<string, number>
      counts.set(labels, (counts.get(labels) ?? 0) + by)
    },
    hitRate,
    text(load) {
      const kinds = Object.entries(tokens).map(([kind, count]) => [`{kind="${kind}"}`, count] as const)
      return `${[
        family('foldgate_runner_requests_total', [...requests]),
        family('foldgate_runner_running', [['', load.running]]),
        family('foldgate_runner_queued', [['', load.queued]]),
        family('foldgate_runner_tokens_total', kinds),
        family('foldgate_kv_cache_hit_ratio', [['', hitRate() ?? 0]]),
        ...(Object.keys(noted) as Noted[]).map((name) => family(name, [...(notes.get(name) ?? [])])),
      ].join('\n')}\n`
    },
  }
}
