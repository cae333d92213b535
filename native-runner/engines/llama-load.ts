import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { refusal } from '../refusal.ts'
import { createPrompter, type Prompter } from './chat-template.ts'
import { createLeases, type Leases } from './leases.ts'
import type { LoadOptions, ModelFacts } from './llama-messages.ts'
import type { EmbeddingContext, Jinja, Llama, Model, Native } from './native.ts'

/** A model ready to answer, inside the engine process. */
export interface Loaded {
  readonly native: Native
  readonly model: Model
  readonly prompter: Prompter
  readonly leases: Leases
  readonly batchSize: number
  readonly facts: ModelFacts
  /** The context for vectors, made when first asked for. */
  embedder(): Promise<EmbeddingContext>
}

/** Bytes under which a model is so small that threads wait for each other more than they work. */
const tinyModelBytes = 64 * 1024 * 1024

/**
 * Threads for a model of so many bytes on so many cores: one for a tiny model, else all cores but one, at most 16.
 * llama.cpp's threads spin for each other at every step: with one for every core, whatever else runs there, such as this
 * runner itself, slows generation tenfold and more.
 */
export function threadsFor(modelBytes: number, cores: number): number {
  return modelBytes < tinyModelBytes ? 1 : Math.max(1, Math.min(cores - 1, 16))
}

async function importNative(folder: string): Promise<{ native: Native; jinja: Jinja }> {
  try {
    const manifest = join(folder, 'node_modules', 'node-llama-cpp', 'package.json')
    const native: Native = await import(pathToFileURL(join(manifest, '..', 'dist', 'index.js')).href)
    const jinja: Jinja = await import(pathToFileURL(createRequire(manifest).resolve('@huggingface/jinja')).href)
    return { native, jinja }
  } catch (cause) {
    throw refusal('native_unavailable', `node-llama-cpp cannot be loaded from ${folder}: ${String(cause)}`, { cause })
  }
}

async function startLlama(native: Native): Promise<Llama> {
  try {
    const fixed = { build: 'never', skipDownload: true, progressLogs: false, logLevel: 'error', maxThreads: 0 } as const
    return await native.getLlama({ gpu: 'auto', ...fixed })
  } catch (cause) {
    throw refusal('native_unavailable', `llama.cpp does not run on this machine: ${String(cause)}`, { cause })
  }
}

/** A prompt that shifted would lose its beginning without a word; calls are bounded so that it cannot happen. */
function refuseShift(): never {
  throw refusal('internal_error', 'the context is full')
}

async function createContext(model: Model, options: LoadOptions, threads: number) {
  const contextSize = Math.min(options.contextTokens || 4096, model.trainContextSize)
  const { sequences } = options
  const context = await model.createContext({ sequences, contextSize, batchSize: Math.min(512, contextSize), threads })
  const all = Array.from({ length: sequences }, () => context.getSequence({ contextShift: { strategy: refuseShift } }))
  return {
    leases: createLeases(all),
    batchSize: context.batchSize,
    contextTokens: Math.min(context.contextSize, contextSize),
  }
}

/** Loads node-llama-cpp and a model. Throws `native_unavailable` or `model_unavailable`. */
export async function loadModel(options: LoadOptions): Promise<Loaded> {
  const { native, jinja } = await importNative(options.nativeFolder)
  const llama = await startLlama(native)
  try {
    const model = await llama.loadModel({ modelPath: options.modelPath, gpuLayers: 'auto' })
    const threads = options.threads || threadsFor(model.size, Math.min(llama.cpuMathCores, availableParallelism()))
    const { contextTokens, ...context } = await createContext(model, options, threads)
    const prompter = createPrompter(model, jinja)
    const embeddingTokens = Math.min(contextTokens, 2048)
    const { vocabularySize, tokenChars } = prompter
    const device = llama.gpu === false ? 'cpu' : llama.gpu
    const facts = {
      contextTokens,
      vocabularySize,
      tokenChars,
      embeddingTokens,
      threads,
      device,
      release: llama.llamaCppRelease.release,
    }
    let embedder: Promise<EmbeddingContext> | undefined
    const createEmbedder = () => model.createEmbeddingContext({ contextSize: embeddingTokens, threads })
    return { native, model, prompter, ...context, facts, embedder: () => (embedder ??= createEmbedder()) }
  } catch (cause) {
    throw refusal('model_unavailable', `the model ${options.modelPath} cannot be loaded: ${String(cause)}`, { cause })
  }
}
