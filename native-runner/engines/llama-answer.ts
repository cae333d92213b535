import { randomInt } from 'node:crypto'
import type { Piece } from '../engine.ts'
import type { Sampling } from '../sampling.ts'
import { createStopScanner } from '../stop.ts'
import type { Lease } from './leases.ts'
import type { Loaded } from './llama-load.ts'
import type { Run, RunCounts } from './llama-messages.ts'
import type { EvaluateOptions } from './native.ts'
import { createTokenText } from './token-text.ts'

/** What an answer in progress hears from, and says to, the runner. */
export interface Listener {
  readonly signal: AbortSignal
  /** Says that work goes on. */
  beat(): void
  /** Sends a piece; resolves when more may be sent. */
  send(piece: Piece): Promise<void>
}

// About how long a part of a prompt may take, in milliseconds: between two parts an abort is noticed.
const partMs = 250

/** Reads a prompt in parts small enough that an abort stops it soon. `false`: it was aborted. */
async function readPrompt(loaded: Loaded, run: Run, lease: Lease, listener: Listener): Promise<boolean> {
  let size = 16
  for (let at = lease.cached; at < run.tokens.length - 1; ) {
    if (listener.signal.aborted) return false
    const part = run.tokens.slice(at, Math.min(at + size, run.tokens.length - 1))
    const startedAt = performance.now()
    await lease.sequence.evaluateWithoutGeneratingNewTokens(part)
    listener.beat()
    const rate = part.length / Math.max(1, performance.now() - startedAt)
    size = Math.max(16, Math.min(loaded.batchSize, Math.round(rate * partMs)))
    at += part.length
  }
  return !listener.signal.aborted
}

// One below 2^32 - 1, which llama.cpp takes for "no seed".
const seeds = 4_294_967_295

function evaluateOptions(loaded: Loaded, sampling: Sampling, said: readonly number[]): EvaluateOptions {
  const { frequencyPenalty = 0, presencePenalty = 0, bias } = sampling
  const penalised = frequencyPenalty !== 0 || presencePenalty !== 0
  const recent = 256
  const repeatPenalty = { penalty: 1, frequencyPenalty, presencePenalty, maxPunishTokens: recent }
  const tokenBias = loaded.native.TokenBias.for(loaded.model)
  for (const [token, logit] of bias) tokenBias.set(token, { logit })
  return {
    // What small chat models are commonly run with, where the caller says nothing.
    temperature: sampling.temperature ?? 0.7,
    topP: sampling.topP ?? 0.95,
    topK: Math.max(0, sampling.topK ?? 40),
    minP: sampling.minP ?? 0,
    seed: sampling.seed === undefined ? randomInt(seeds) : ((sampling.seed % seeds) + seeds) % seeds,
    ...(bias.length > 0 ? { tokenBias } : {}),
    ...(penalised ? { repeatPenalty: { ...repeatPenalty, punishTokens: () => said.slice(-recent) } } : {}),
  }
}

async function write(loaded: Loaded, run: Run, lease: Lease, listener: Listener): Promise<number> {
  const { index, tokens, maxTokens, sampling } = run
  const scanner = createStopScanner(sampling.stop)
  const text = createTokenText(loaded.model, tokens)
  const said: number[] = []
  let unsent = 0
  let reason = 'stop'
  const say = async (content: string): Promise<void> => {
    if (content === '') return listener.beat()
    const counted = unsent
    unsent = 0
    await listener.send({ kind: 'delta', index, delta: { content }, tokens: counted })
  }
  let stopped = false
  for await (const token of lease.sequence.evaluate(tokens.slice(-1), evaluateOptions(loaded, sampling, said))) {
    if (listener.signal.aborted) return said.length
    said.push(token)
    unsent++
    const found = scanner.push(text.push(token))
    stopped = found.stopped
    await say(found.text)
    if (stopped) break
    if (said.length >= maxTokens) {
      reason = 'length'
      break
    }
  }
  const last = stopped ? { text: '', stopped } : scanner.push(text.flush())
  await say(last.stopped ? last.text : last.text + scanner.flush())
  await listener.send({ kind: 'finish', index, reason: last.stopped ? 'stop' : reason })
  return said.length
}

/** Answers one choice on a sequence of its own; ends early, without a `finish`, when aborted. */
export async function answer(loaded: Loaded, run: Run, listener: Listener): Promise<RunCounts> {
  const lease = await loaded.leases.lease(run.tokens, run.scope)
  let spoiled = true
  try {
    const read = await readPrompt(loaded, run, lease, listener)
    const completion = read ? await write(loaded, run, lease, listener) : 0
    spoiled = false
    return { prompt: run.tokens.length, cached: lease.cached, completion }
  } finally {
    lease.release(spoiled)
  }
}
