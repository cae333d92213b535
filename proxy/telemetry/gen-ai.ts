import type { ChatRequest, Route, Usage } from '../../plugins/chat.ts'

/**
 * The GenAI semantic conventions come in two generations, neither of them stable: A, of the core repository up to 1.41, is
 * what public dashboards query; B is that of their own repository. `OTEL_SEMCONV_STABILITY_OPT_IN` with
 * `gen_ai_latest_experimental` in its list chooses B.
 */
export type Generation = 'A' | 'B'

/** The attribute a fact has in one generation; undefined: that generation has none. */
export interface GenAiNames {
  /** The schema that the names belong to, as exported with the spans. */
  readonly schemaUrl: string
  readonly inputTokens: string
  readonly outputTokens: string
  readonly cacheReadTokens: string
  readonly cacheWriteTokens: string
  readonly reasoningTokens: string | undefined
}

/** The names that differ, or may come to differ, between the generations. */
export const genAiNames: Readonly<Record<Generation, GenAiNames>> = {
  A: {
    schemaUrl: 'https://opentelemetry.io/schemas/1.41.0',
    inputTokens: 'gen_ai.usage.input_tokens',
    outputTokens: 'gen_ai.usage.output_tokens',
    cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens',
    cacheWriteTokens: 'gen_ai.usage.cache_creation.input_tokens',
    reasoningTokens: undefined,
  },
  B: {
    schemaUrl: 'https://opentelemetry.io/schemas/gen-ai/1.42.0',
    inputTokens: 'gen_ai.usage.input_tokens',
    outputTokens: 'gen_ai.usage.output_tokens',
    cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens',
    cacheWriteTokens: 'gen_ai.usage.cache_write.input_tokens',
    reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  },
}

/** Every other attribute name the product exports. None of them can hold a prompt, an answer, a query string or a credential. */
export const attributeNames = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  requestModel: 'gen_ai.request.model',
  requestStream: 'gen_ai.request.stream',
  requestSeed: 'gen_ai.request.seed',
  requestChoices: 'gen_ai.request.choice.count',
  requestTemperature: 'gen_ai.request.temperature',
  requestTopP: 'gen_ai.request.top_p',
  requestMaxTokens: 'gen_ai.request.max_tokens',
  requestFrequencyPenalty: 'gen_ai.request.frequency_penalty',
  requestPresencePenalty: 'gen_ai.request.presence_penalty',
  responseModel: 'gen_ai.response.model',
  responseFinishReasons: 'gen_ai.response.finish_reasons',
  /** Seconds; streams only. */
  responseFirstChunk: 'gen_ai.response.time_to_first_chunk',
  errorType: 'error.type',
  method: 'http.request.method',
  route: 'http.route',
  status: 'http.response.status_code',
  serverAddress: 'server.address',
  serverPort: 'server.port',
  scheme: 'url.scheme',
  path: 'url.path',
  callId: 'foldgate.call.id',
  routeKind: 'foldgate.route',
  source: 'foldgate.source',
  arm: 'foldgate.arm',
  stage: 'foldgate.stage',
  rollout: 'foldgate.rollout',
  /** The layer that moves, for a call in its shadow or canary. */
  moving: 'foldgate.moving',
  tier: 'foldgate.tier',
  /** Short hashes of the unit that the call was drawn by, and of its tenant. */
  unit: 'foldgate.unit',
  tenant: 'foldgate.tenant',
  /** Milliseconds to the first byte; streams and documents alike. */
  firstByteMs: 'foldgate.first_byte_ms',
  /** What broke in a stream that the runner acknowledged, or the end that it did not acknowledge. */
  unacknowledged: 'foldgate.unacknowledged',
  /** The step of the rollout that the call was drawn in: `shadow`, or `S1` to `S4`. */
  step: 'foldgate.step',
  /** When the call began, in milliseconds since the epoch. */
  startedAt: 'foldgate.started_at',
  /** Its caller, who may, chose the side of the moving layer: no draw did. */
  chosen: 'foldgate.chosen',
  /** The layers that the fallback was about, with spaces between; absent where it was about all that acted. */
  fallbackLayers: 'foldgate.fallback.layers',
  /** In what way the acknowledgement was not what was asked for, and of which layer, such as `version prompt`. */
  mismatch: 'foldgate.mismatch',
  /** What was wrong with the answer itself: invariants of its stream, a hard difference, or its usage; with spaces between. */
  broken: 'foldgate.broken',
  /** Of an answer that was looked at: why it ended, whether the model declined, and the length of its text. */
  answerFinish: 'foldgate.answer.finish',
  answerDeclined: 'foldgate.answer.declined',
  answerChars: 'foldgate.answer.chars',
  /** What kind of call it was: asked for a stream, brought tools, wanted JSON, how long its body was, answered by a cache. */
  stream: 'foldgate.stream',
  tools: 'foldgate.tools',
  json: 'foldgate.json',
  size: 'foldgate.size',
  cacheHit: 'foldgate.cache_hit',
  executionTimeUs: 'foldgate.execution_time_us',
  fallbackReason: 'foldgate.fallback.reason',
  policyDigest: 'foldgate.policy.digest',
  errorCode: 'foldgate.error.code',
  layer: 'foldgate.layer',
  phase: 'foldgate.phase',
  runner: 'foldgate.runner',
  /** 1 for a call's first attempt; every request to a runner counts, also one that repeats what broke or was refused. */
  attempt: 'foldgate.attempt',
  /** `test` on requests that no caller made. */
  synthetic: 'user_agent.synthetic.type',
  /** Which of the two copies of a call: `old`, as it was answered, once more; `new`, with the moving layer at the runner. */
  copy: 'foldgate.copy',
  /** On a link: how the two have to do with each other; `shadow_of`. */
  link: 'foldgate.link',
  /** The stages a layer moved between, and who moved it: `foldgate` or `operator`. */
  movedFrom: 'foldgate.moved.from',
  movedTo: 'foldgate.moved.to',
  movedBy: 'foldgate.moved.by',
} as const

/** A name of the table above, or `foldgate.layer.<name>.` and one of `status`, `by`, `reason`. */
export type AttributeName =
  | (typeof attributeNames)[keyof typeof attributeNames]
  | `foldgate.layer.${string}.${'status' | 'by' | 'reason'}`

/** A value of an attribute. Absent and undefined are the same. */
export type AttributeValue = string | number | boolean | readonly string[] | undefined

/** Attributes of a span, by exported name. Only names of this module fit. */
export type Attributes = { readonly [Name in AttributeName]?: AttributeValue }

/** What the status header says of one layer, as attributes of the call's span. */
export function layerAttributes(
  layer: string,
  said: { readonly status: string; readonly by: string; readonly reason?: string | undefined },
): Attributes {
  return {
    [`foldgate.layer.${layer}.status`]: said.status,
    [`foldgate.layer.${layer}.by`]: said.by,
    [`foldgate.layer.${layer}.reason`]: said.reason,
  }
}

/** The generation that an environment asks for. */
export function generationFrom(environment: Readonly<Record<string, string | undefined>>): Generation {
  const wanted = environment['OTEL_SEMCONV_STABILITY_OPT_IN'] ?? ''
  const latest = wanted.split(',').some((each) => each.trim() === 'gen_ai_latest_experimental')
  return latest ? 'B' : 'A'
}

/** `gen_ai.operation.name` of a route; undefined where no model is asked. */
export function operationFromRoute(route: Route): 'chat' | 'text_completion' | 'embeddings' | undefined {
  if (route === 'chat' || route === 'messages') return 'chat'
  if (route === 'completions') return 'text_completion'
  return route === 'embeddings' ? 'embeddings' : undefined
}

/** A request's settings as attributes: numbers only, never its text, stop sequences included. */
export function attributesFromRequest(request: ChatRequest): Attributes {
  const number = (value: unknown) => (typeof value === 'number' ? value : undefined)
  return {
    'gen_ai.request.seed': number(request.seed),
    'gen_ai.request.choice.count': request.n === 1 ? undefined : number(request.n),
    'gen_ai.request.temperature': number(request.temperature),
    'gen_ai.request.top_p': number(request['top_p']),
    'gen_ai.request.max_tokens': number(request.max_completion_tokens ?? request.max_tokens),
    'gen_ai.request.frequency_penalty': number(request['frequency_penalty']),
    'gen_ai.request.presence_penalty': number(request['presence_penalty']),
  }
}

/** Token counts as attributes of one generation; what is not a number is left out. */
export function attributesFromUsage(usage: Usage, names: GenAiNames): Record<string, number> {
  const completion = usage['completion_tokens_details'] as { readonly reasoning_tokens?: unknown } | null | undefined
  const counts: readonly (readonly [string | undefined, unknown])[] = [
    [names.inputTokens, usage.prompt_tokens],
    [names.outputTokens, usage.completion_tokens],
    [names.cacheReadTokens, usage.prompt_tokens_details?.cached_tokens],
    [names.cacheWriteTokens, usage['cache_creation_input_tokens']],
    [names.reasoningTokens, completion?.reasoning_tokens],
  ]
  const found: Record<string, number> = {}
  for (const [name, count] of counts) {
    if (name !== undefined && typeof count === 'number') found[name] = count
  }
  return found
}
