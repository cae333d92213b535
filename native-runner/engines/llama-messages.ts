import type { Piece } from '../engine.ts'
import type { Prompt } from '../prompts.ts'
import type { RefusalCode } from '../refusal.ts'
import type { Sampling } from '../sampling.ts'

/** What the engine process is started with. */
export interface LoadOptions {
  /** Folder that holds `node_modules/node-llama-cpp`. */
  readonly nativeFolder: string
  readonly modelPath: string
  /** Calls at a time. */
  readonly sequences: number
  /** Prompt and answer together, in tokens; 0: the model's own, at most 4096. */
  readonly contextTokens: number
  /** Processor threads; 0: by model size and cores. */
  readonly threads: number
}

/** What a loaded model is like. */
export interface ModelFacts {
  readonly contextTokens: number
  readonly vocabularySize: number
  /** Characters of the longest token: a longer prompt than this times the context cannot fit. */
  readonly tokenChars: number
  readonly embeddingTokens: number
  readonly threads: number
  /** `cpu`, `cuda`, `metal` or `vulkan`. */
  readonly device: string
  /** The llama.cpp release. */
  readonly release: string
}

/** One choice to generate. */
export interface Run {
  readonly index: number
  readonly tokens: readonly number[]
  readonly maxTokens: number
  readonly scope: string
  readonly sampling: Sampling
}

/** To the engine process. `credit` allows more pieces to be sent; `cancel` ends the work of an id. */
export type ToEngine =
  | { readonly kind: 'load'; readonly id: number; readonly options: LoadOptions }
  | { readonly kind: 'tokenize'; readonly id: number; readonly prompt: Prompt }
  | { readonly kind: 'embed'; readonly id: number; readonly inputs: readonly (readonly number[])[] }
  | { readonly kind: 'run'; readonly id: number; readonly run: Run }
  | { readonly kind: 'credit'; readonly id: number; readonly pieces: number }
  | { readonly kind: 'cancel'; readonly id: number }

/** What a finished piece of work gave. */
export type Result = ModelFacts | readonly number[] | readonly (readonly number[])[] | RunCounts

/** What one choice cost, in tokens. */
export interface RunCounts {
  readonly prompt: number
  readonly cached: number
  readonly completion: number
}

/** From the engine process. `beat` says that work of an id goes on; `result` and `failed` end it. */
export type FromEngine =
  | { readonly kind: 'beat'; readonly id: number }
  | { readonly kind: 'piece'; readonly id: number; readonly piece: Piece }
  | { readonly kind: 'result'; readonly id: number; readonly result: Result }
  | {
      readonly kind: 'failed'
      readonly id: number
      readonly code: RefusalCode
      readonly message: string
      readonly param?: string
    }
