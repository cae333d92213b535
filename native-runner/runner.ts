import type { Engine } from './engine.ts'
import { createEchoEngine, type EchoOptions } from './engines/echo.ts'
import { createLlamaEngine, type LlamaOptions } from './engines/llama.ts'
import { createOpenAiEngine, type OpenAiOptions } from './engines/openai.ts'
import { createExecution, type Execution } from './execution.ts'
import type { ExecutionOptions } from './execution-options.ts'
import { createMeter, type Meter } from './meter.ts'
import { type RunningServer, type ServerOptions, startServer } from './server.ts'

/** Which engine makes the tokens, and how. */
export type EngineChoice =
  | ({ readonly engine: 'llama' } & LlamaOptions)
  | ({ readonly engine: 'openai' } & OpenAiOptions)
  | ({ readonly engine: 'echo' } & EchoOptions)

/** A runner to start: an engine, and how it listens. */
export type RunnerOptions = EngineChoice & {
  readonly server?: ServerOptions
  /** What it executes layers with; absent: it takes no context. */
  readonly execution?: ExecutionOptions
}

/** A runner that serves. */
export interface Runner {
  readonly url: string
  readonly engine: Engine
  /** The id of the first model it serves; empty while an upstream has not said. */
  readonly model: string
  /** Takes no more calls, lets those in flight end for at most `graceMs` (default 30000), then stops the engine. */
  close(graceMs?: number): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** The engine that options ask for, not started yet. */
export function createEngine(options: EngineChoice): Engine {
  if (options.engine === 'llama') return createLlamaEngine(options)
  if (options.engine === 'openai') return createOpenAiEngine(options)
  return createEchoEngine(options)
}

/**
 * Starts a runner: it listens at once, so that probes see it come up, and resolves when its engine is ready. Throws
 * `native_unavailable` or `model_unavailable` when the llama engine cannot be had, `config_invalid` for keys that cannot be; nothing is
 * left running then.
 */
export async function startRunner(options: RunnerOptions): Promise<Runner> {
  const engine = createEngine(options)
  const meter = createMeter()
  const execution = await createExecution({ engine, meter }, options.execution)
  const server = await listening({ engine, meter, execution }, options.server)
  const close = async (graceMs?: number): Promise<void> => {
    await server.close(graceMs)
    await execution.close()
    await engine.close()
  }
  try {
    await engine.start()
    if (engine.state() === 'ready') await execution.opened()
    const [card] = engine.state() === 'ready' ? await engine.models() : []
    return { url: server.url, engine, model: card?.id ?? '', close, [Symbol.asyncDispose]: () => close(0) }
  } catch (error) {
    await close(0)
    throw error
  }
}

async function listening(
  parts: { readonly engine: Engine; readonly meter: Meter; readonly execution: Execution },
  options: ServerOptions | undefined,
): Promise<RunningServer> {
  try {
    return await startServer(parts, options)
  } catch (error) {
    await parts.execution.close()
    throw error
  }
}
