import type { Call } from './call.ts'
import { type ChatRequest, outputLimit } from './chat.ts'
import {
  addText,
  answersOf,
  type Features,
  featureNames,
  featuresOfRequest,
  idsOfRequest,
  priorWeights,
} from './token-features.ts'
import type { TokenCounter, TokenEstimate } from './tokens.ts'

/** What an estimator is made from. */
export interface TokenEstimatorOptions {
  /** Asks a runner's `/tokenize` for the prompt tokens of a call; undefined when it cannot tell. */
  readonly exact?: (call: Call, signal: AbortSignal) => Promise<number | undefined>
  /** How long `exact` may take, in milliseconds; default 200. */
  readonly exactTimeoutMs?: number
}

/** What was learned about one model. */
interface Learned {
  /** By feature, what the prior weight is multiplied with. */
  readonly scale: Float64Array
  /** Mean squared relative error of the prompt estimates. */
  errorSquared: number
  /** Mean output tokens of one answer whose length the request did not limit. */
  output: number
}

// How much one call moves what is known: an exponentially weighted mean over about the last ten calls.
const rate = 0.2
const priorError = 0.15
const priorOutput = 256
const mostModels = 256
// No single call, and no runner that reports nonsense, moves a weight out of this range.
const leastScale = 0.2
const mostScale = 8

/**
 * Makes a {@link TokenCounter} that needs no vocabulary: a prompt is a sum of weighed features (letters, words, digits, CJK characters,
 * messages, images …), and the weights of each model follow its real usage by normalised least mean squares (Widrow and Hoff), so a
 * model that is mostly asked in Chinese learns its ratio for Chinese. Knows at most 256 models, the most recently used.
 */
export function createTokenEstimator(options: TokenEstimatorOptions = {}): TokenCounter {
  const models = new Map<string, Learned>()
  // A request is estimated by more than one layer and learned from once more; its text is walked once.
  const seen = new WeakMap<ChatRequest, Features>()
  const featuresOf = (request: ChatRequest): Features => {
    const features = seen.get(request) ?? featuresOfRequest(request)
    seen.set(request, features)
    return features
  }
  const inputOf = (request: ChatRequest): number =>
    Math.ceil(weigh(featuresOf(request), models.get(request.model)?.scale)) + idsOfRequest(request)
  const learnInput = (request: ChatRequest, actual: number): void =>
    adapt(recall(models, request.model), featuresOf(request), actual - idsOfRequest(request))
  return {
    estimate(request): TokenEstimate {
      const input = inputOf(request)
      const known = models.get(request.model)
      // Twice the root mean square: about 95 of 100 calls are within.
      const error = Math.ceil(2 * Math.sqrt(known?.errorSquared ?? priorError ** 2) * (input - idsOfRequest(request)))
      return { input, error, output: expectedOutput(request, known) }
    },
    count(text, model) {
      const features = new Float64Array(featureNames.length)
      addText(features, text)
      return Math.ceil(weigh(features, models.get(model)?.scale))
    },
    async exact(call) {
      const counted = await within(call, options)
      if (counted !== undefined) learnInput(call.request, counted)
      return counted
    },
    learn(request, usage) {
      const { prompt_tokens: prompt, completion_tokens: completion } = usage
      if (isCount(prompt) && prompt > 0) learnInput(request, prompt)
      if (isCount(completion)) learnOutput(recall(models, request.model), { request, completion })
    },
  }
}

function weigh(features: Features, scale: Float64Array | undefined): number {
  let tokens = 0
  for (let i = 0; i < features.length; i++) tokens += features[i]! * priorWeights[i]! * (scale ? scale[i]! : 1)
  return tokens
}

function expectedOutput(request: ChatRequest, known: Learned | undefined): number {
  if (request.input !== undefined && !request.messages && request.prompt === undefined) return 0
  return Math.ceil((outputLimit(request) ?? known?.output ?? priorOutput) * answersOf(request))
}

function recall(models: Map<string, Learned>, model: string): Learned {
  const known = models.get(model) ?? {
    scale: new Float64Array(featureNames.length).fill(1),
    errorSquared: priorError ** 2,
    output: priorOutput,
  }
  models.delete(model)
  models.set(model, known)
  if (models.size > mostModels) models.delete(models.keys().next().value as string)
  return known
}

function adapt(known: Learned, features: Features, actual: number): void {
  if (actual <= 0) return
  const miss = actual - weigh(features, known.scale)
  known.errorSquared += rate * (Math.min(1, Math.abs(miss) / actual) ** 2 - known.errorSquared)
  let power = 1
  for (let i = 0; i < features.length; i++) power += (features[i]! * priorWeights[i]!) ** 2
  for (let i = 0; i < features.length; i++) {
    const moved = known.scale[i]! + (rate * miss * features[i]! * priorWeights[i]!) / power
    known.scale[i] = Math.min(mostScale, Math.max(leastScale, moved))
  }
}

function learnOutput(known: Learned, seen: { request: ChatRequest; completion: number }): void {
  const each = seen.completion / answersOf(seen.request)
  // An answer that was cut at the limit says nothing about how long it would have been.
  if (each < (outputLimit(seen.request) ?? Number.POSITIVE_INFINITY)) known.output += rate * (each - known.output)
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

async function within(call: Call, { exact, exactTimeoutMs = 200 }: TokenEstimatorOptions): Promise<number | undefined> {
  if (!exact) return undefined
  const signal = AbortSignal.any([call.signal, AbortSignal.timeout(exactTimeoutMs)])
  const late = new Promise<undefined>((resolve) =>
    signal.addEventListener('abort', () => resolve(undefined), { once: true }),
  )
  try {
    const counted = await Promise.race([exact(call, signal), late])
    return isCount(counted) ? counted : undefined
  } catch {
    // A runner that cannot count is not a reason to fail a call; the estimate stands.
    return undefined
  }
}
