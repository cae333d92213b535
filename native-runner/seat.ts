import type { Call } from '../plugins/call.ts'
import type { ChatRequest, Usage } from '../plugins/chat.ts'
import { gatewayError } from '../plugins/errors.ts'
import { headerNames } from '../plugins/headers.ts'
import type { Clock, Count, Http, Log, Seat, Side } from '../plugins/host.ts'
import type { Store } from '../plugins/store.ts'
import { createTokenEstimator } from '../plugins/token-estimator.ts'
import type { TokenCounter } from '../plugins/tokens.ts'
import type { Egress } from './egress.ts'
import type { Engine } from './engine.ts'
import type { Meter } from './meter.ts'
import { createOwnBoard } from './questions.ts'
import type { SecretsFolder } from './secrets.ts'

/** The sides that a runner executes: calls, and copies made for comparison. */
export type RunnerSide = Exclude<Side, 'gateway'>

/** What seats are made from. */
export interface SeatParts {
  readonly engine: Engine
  readonly meter: Pick<Meter, 'noted'>
  readonly clock: Clock
  readonly store: Store
  readonly http: Http
  readonly allows: Egress
  readonly secrets: SecretsFolder
  readonly secret: (purpose: string) => Buffer
  readonly log: Log
  /** Ids of the models that the engine serves, as far as they are known. */
  readonly models: () => readonly string[]
  readonly closed: AbortSignal
}

/** Makes the seat of one policy on one side, given what its cache has further in. */
export type SeatMaker = (side: RunnerSide, insideDigest: (call: Call) => string | undefined) => Seat

/** The doors of the layers here. */
export interface Seats {
  readonly seatOf: SeatMaker
  /** Feeds back what a request really used, unless a layer did so. */
  learn(side: RunnerSide, request: ChatRequest, usage: Usage): void
}

/**
 * Makes the doors of the layers here. Both sides share clock, store, keys and models; keys in the store carry the side. A copy reaches
 * nothing outside that it could change: it posts nothing, appends to no stream, is not counted, and what it learns of tokens is its own.
 */
export function createSeats(parts: SeatParts): Seats {
  const doors = { runner: doorsOf('runner', parts), copy: doorsOf('copy', parts) }
  return {
    seatOf: (side, insideDigest) => ({
      ...doors[side],
      // A getter, since an upstream's list of models changes.
      get models() {
        return parts.models()
      },
      insideDigest,
    }),
    learn: (side, request, usage) => doors[side].tokens.learn(request, usage),
  }
}

function doorsOf(side: RunnerSide, parts: SeatParts): Omit<Seat, 'models' | 'insideDigest'> {
  const { engine, clock, store, http, allows, secrets, secret, log, closed } = parts
  const copy = side === 'copy'
  return {
    side,
    clock,
    store: copy ? { ...store, append: async () => undefined } : store,
    http: copy ? readingOnly(http) : http,
    tokens: learningOnce(createTokenEstimator({ exact: (call, signal) => exactTokens(engine, call, signal) })),
    runners: createOwnBoard(engine),
    log,
    // The names that paths resolve in facts, and the header of conversations, stand in the steps.
    declared: new Set(),
    conversationHeader: headerNames().conversationId,
    trusts: () => false,
    secret,
    file: secrets.file,
    has: secrets.has,
    allows,
    count: copy ? () => undefined : counter(parts.meter),
    closed,
  }
}

/** A request is learned from once, whether a layer does it or the call around it. */
function learningOnce(tokens: TokenCounter): TokenCounter {
  const learned = new WeakSet<ChatRequest>()
  return {
    ...tokens,
    learn(request, usage) {
      if (learned.has(request)) return
      learned.add(request)
      tokens.learn(request, usage)
    },
  }
}

function counter(meter: SeatParts['meter']): (what: Count, by?: number) => void {
  return (what, by = 1) => meter.noted('foldgate_runner_layer_events_total', what, by)
}

function readingOnly(http: Http): Http {
  return {
    async send(url, request) {
      if (request.method === 'POST') throw gatewayError('runner_unreachable', 'a copy of a call posts nothing')
      return http.send(url, request)
    },
  }
}

async function exactTokens(engine: Engine, { request }: Call, signal: AbortSignal): Promise<number | undefined> {
  if (request.messages === undefined && request.prompt === undefined) return undefined
  return (await engine.tokenize(request, signal)).tokens.length
}
