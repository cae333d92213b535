/** The part of node-llama-cpp 3.21 that the engine process uses. It is installed on demand, so its own types are not at hand. */
export interface Native {
  getLlama(options: {
    gpu: 'auto' | false
    build: 'never'
    skipDownload: true
    progressLogs: false
    logLevel: 'error'
    maxThreads: 0
  }): Promise<Llama>
  readonly TokenBias: { for(model: Model): Bias }
}

/** A loaded llama.cpp. */
export interface Llama {
  readonly gpu: string | false
  readonly cpuMathCores: number
  readonly llamaCppRelease: { readonly release: string }
  loadModel(options: { modelPath: string; gpuLayers: 'auto' }): Promise<Model>
}

/** Offsets of token logits. */
export interface Bias {
  set(token: number, bias: { logit: number }): Bias
}

/** What kind of token one is. */
export interface Attributes {
  readonly control: boolean
  readonly unknown: boolean
  readonly userDefined: boolean
  readonly lstrip: boolean
  readonly rstrip: boolean
}

/** A loaded model. */
export interface Model {
  readonly trainContextSize: number
  readonly size: number
  readonly fileInfo: { readonly metadata: { readonly tokenizer?: { readonly chat_template?: string } } }
  readonly tokens: {
    readonly bos: number | null
    readonly bosString: string | null
    readonly eosString: string | null
    readonly shouldPrependBosToken: boolean
  }
  tokenize(text: string, specialTokens: boolean, options?: 'trimLeadingSpace'): number[]
  detokenize(tokens: readonly number[], specialTokens: boolean, lastTokens?: readonly number[]): string
  getTokenAttributes(token: number): Attributes
  iterateAllTokens(): Iterable<number>
  createContext(options: {
    sequences: number
    contextSize: number
    batchSize: number
    threads: number
  }): Promise<Context>
  createEmbeddingContext(options: { contextSize: number; threads: number }): Promise<EmbeddingContext>
}

/** The memory that sequences share. */
export interface Context {
  readonly contextSize: number
  readonly batchSize: number
  getSequence(options: { contextShift: { strategy: () => never } }): Sequence
}

/** One stream of tokens in a context. */
export interface Sequence {
  readonly nextTokenIndex: number
  readonly contextTokens: readonly number[]
  adaptStateToTokens(tokens: readonly number[], allowShift: boolean): Promise<void>
  clearHistory(): Promise<void>
  evaluateWithoutGeneratingNewTokens(tokens: readonly number[]): Promise<void>
  evaluate(tokens: readonly number[], options: EvaluateOptions): AsyncGenerator<number, void, void>
}

/** How tokens are drawn. */
export interface EvaluateOptions {
  readonly temperature: number
  readonly topP: number
  readonly topK: number
  readonly minP: number
  readonly seed: number
  readonly tokenBias?: Bias
  readonly repeatPenalty?: {
    punishTokens: () => number[]
    maxPunishTokens: number
    penalty: number
    frequencyPenalty: number
    presencePenalty: number
  }
}

/** A context that makes vectors. */
export interface EmbeddingContext {
  getEmbeddingFor(tokens: readonly number[]): Promise<{ readonly vector: readonly number[] }>
}

/** The part of `@huggingface/jinja` that renders chat templates. */
export interface Jinja {
  readonly Template: new (source: string) => { render(variables: Readonly<Record<string, unknown>>): string }
}
