import type { Call } from '../call.ts'
import { type ChatRequest, outputLimit, textOfMessage } from '../chat.ts'
import type { Host } from '../host.ts'
import type { ContextConfig } from './config-context.ts'
import { contextLimit, type Fitted, type Fitting, fitRequest, requestSize } from './fit.ts'

/** A prepared request that may be too long for its model. */
export interface Doubtful {
  readonly call: Call
  /** With everything said that is to be said. */
  readonly request: ChatRequest
  readonly model: string
  readonly config: ContextConfig
  /** Tokens of the model's context. */
  readonly limit: number
  /** Tokens to leave free for a summary. */
  readonly spare: number
  readonly tokens: Host['tokens']
}

/** The tokens that are left for the prompt of a call; undefined when its model has no limit here. */
export function roomFor(config: ContextConfig, model: string, request: ChatRequest): number | undefined {
  const limit = contextLimit(config, model)
  return limit === undefined ? undefined : limit - (outputLimit(request) ?? config.reserveOutput)
}

/** Bytes that a schema we add may have, and the most that a character of UTF-16 takes in UTF-8. */
const schemaBytes = 1024
const charBytes = 3

/** A token is a byte or more: a body shorter than the room is not worth counting. Pictures can be worth more than their address. */
export function surelyFits(call: Call, request: ChatRequest, room: number): boolean {
  let bytes = call.body.length + (request.response_format === call.request.response_format ? 0 : schemaBytes)
  if (bytes > room) return false
  const came = new Set(call.request.messages)
  for (const message of request.messages ?? []) {
    if (Array.isArray(message.content)) return false
    if (!came.has(message)) bytes += charBytes * textOfMessage(message).length
  }
  return bytes <= room
}

// Estimators learn, and the two sides learn apart; but no text of this many characters a token is ordinary.
const crowdedChars = 32

/** So much text that whoever counts must leave some out: what both sides can be held to, whatever each has learned. */
export function surelyCrowded({ request, limit }: Doubtful): boolean {
  let chars = 0
  for (const message of request.messages ?? []) chars += textOfMessage(message).length
  return chars >= crowdedChars * limit
}

/** Whether an exact count could turn the answer to the question if the request fits. */
export function inDoubt(doubtful: Doubtful): boolean {
  const { request, config, model, tokens } = doubtful
  const { error } = tokens.estimate(request)
  const room = roomFor(config, model, request) ?? 0
  return error > 0 && Math.abs(estimated(doubtful) - room) <= error
}

/** By how many tokens an exact count is above the estimate; 0 when nobody can count. */
export async function missedBy(doubtful: Doubtful): Promise<number> {
  const { call, request, tokens } = doubtful
  const exact = await tokens.exact(call.with({}, request))
  return exact === undefined ? 0 : exact - estimated(doubtful)
}

/** Makes the request fit; undefined when it does as it is. Throws `context_length_exceeded`. */
export function shortened(doubtful: Doubtful, missed: number): Fitted | undefined {
  const { request, config, model, limit, spare } = doubtful
  return fitRequest(request, { config, model, limit, count: countOf(doubtful), spare, missed })
}

function estimated(doubtful: Doubtful): number {
  return requestSize(doubtful.request, countOf(doubtful))
}

function countOf({ tokens, model }: Doubtful): Fitting['count'] {
  return (text) => tokens.count(text, model)
}
