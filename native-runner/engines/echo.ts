import { setTimeout as sleep } from 'node:timers/promises'
import { type Body, type Engine, type Job, type Piece, usageFrom } from '../engine.ts'
import {
  defaultMaxTokens,
  overflow,
  type Prompt,
  promptParam,
  promptsFrom,
  promptsFromJob,
  tokenizePromptFrom,
} from '../prompts.ts'
import { refusal } from '../refusal.ts'
import { type Sampling, samplingFrom } from '../sampling.ts'
import { createStopScanner } from '../stop.ts'
import { answerFromPrompt, textFromPrompt, tokensFromWords, vectorFromWords, wordsFrom } from './echo-words.ts'
import { merge } from './merge.ts'
import { createSlots } from './slots.ts'

/** How an echo engine behaves. None of it can be changed by a call. */
export interface EchoOptions {
  /** The id it serves; default `echo`. */
  readonly model?: string
  /** Prompt and answer together, in pieces; default 8192. */
  readonly contextTokens?: number
  /** Wait before each piece, in milliseconds; default 0. */
  readonly delayMs?: number
  /** How many times the answer says it; default 1. */
  readonly repeat?: number
  /** Fails after so many pieces of a choice, as a crashing engine would; default never. */
  readonly failAfterTokens?: number
  /** Calls at a time (default 256) and calls waiting (default 256). */
  readonly slots?: number
  readonly maxQueue?: number
  /** Told each piece made, so that a test can see generation stop. */
  readonly onToken?: () => void
}

interface Choice {
  readonly index: number
  readonly words: readonly string[]
  /** Pieces there are to say, and how many of them may be said. */
  readonly total: number
  readonly maxTokens: number
  readonly sampling: Sampling
}

async function* speak(choice: Choice, options: Required<EchoOptions>, signal: AbortSignal): AsyncGenerator<Piece> {
  const { index, words, total, sampling } = choice
  const most = Math.min(total, choice.maxTokens)
  const scanner = createStopScanner(sampling.stop)
  let spoken = 0
  let stopped = false
  while (spoken < most && !stopped) {
    if (options.delayMs) await sleep(options.delayMs, undefined, { signal })
    signal.throwIfAborted()
    if (spoken === options.failAfterTokens) throw refusal('engine_failed', 'the engine failed while answering')
    options.onToken()
    const found = scanner.push(words[spoken++ % words.length]!)
    stopped = found.stopped
    yield { kind: 'delta', index, delta: { content: found.text }, tokens: 1 }
  }
  const rest = scanner.flush()
  if (rest) yield { kind: 'delta', index, delta: { content: rest }, tokens: 0 }
  yield { kind: 'finish', index, reason: stopped || spoken === total ? 'stop' : 'length' }
}

function choicesFrom(job: Job, prompts: readonly Prompt[], options: Required<EchoOptions>): [Choice[], number] {
  const sampling = samplingFrom(job.body)
  const most = sampling.maxTokens ?? defaultMaxTokens(job)
  let promptTokens = 0
  const choices = prompts.flatMap((prompt, at) => {
    const used = wordsFrom(textFromPrompt(prompt)).length
    if (used >= options.contextTokens) throw overflow(used, options.contextTokens, promptParam(job))
    promptTokens += used
    const words = wordsFrom(answerFromPrompt(prompt))
    const total = words.length * options.repeat
    const maxTokens = options.repeat > 1 ? most : Math.min(most, options.contextTokens - used)
    return Array.from({ length: sampling.n }, (_, k) => ({
      index: at * sampling.n + k,
      words,
      total,
      maxTokens,
      sampling,
    }))
  })
  return [choices, promptTokens]
}

/** An engine without a model: it says the last user message back, deterministically, with exact counts. */
export function createEchoEngine(given: EchoOptions = {}): Engine {
  const absent = {
    model: 'echo',
    contextTokens: 8192,
    delayMs: 0,
    repeat: 1,
    failAfterTokens: -1,
    onToken: () => undefined,
  }
  const options: Required<EchoOptions> = { ...absent, slots: 256, maxQueue: 256, ...given }
  const slots = createSlots(options.slots, options.maxQueue)
  const created = Math.floor(Date.now() / 1000)
  return {
    name: 'echo',
    state: () => 'ready',
    start: async () => undefined,
    models: async () => [{ id: options.model, created, contextTokens: options.contextTokens }],
    async *generate(job, signal) {
      const [choices, promptTokens] = choicesFrom(job, promptsFromJob(job), options)
      const release = await slots.acquire(signal)
      let completion = 0
      try {
        for await (const piece of merge(choices.map((choice) => speak(choice, options, signal)))) {
          if (piece.kind === 'delta') completion += piece.tokens
          yield piece
        }
        yield { kind: 'usage', usage: usageFrom(promptTokens, completion, 0) }
      } finally {
        release()
      }
    },
    async tokenize(body: Body) {
      const words = wordsFrom(textFromPrompt(tokenizePromptFrom(body)))
      return { tokens: tokensFromWords(words), contextTokens: options.contextTokens }
    },
    async embed(body: Body) {
      const texts = promptsFrom(body, 'input', 2048).map((prompt) => wordsFrom(textFromPrompt(prompt)))
      const promptTokens = texts.reduce((sum, words) => sum + words.length, 0)
      return { vectors: texts.map(vectorFromWords), promptTokens }
    },
    load: slots.load,
    close: async () => undefined,
  }
}
