import { isRefusal, refusal, refusalFrom } from '../refusal.ts'
import { creditWindow } from './engine-work.ts'
import { answer, type Listener } from './llama-answer.ts'
import { type Loaded, loadModel } from './llama-load.ts'
import type { FromEngine, Result, ToEngine } from './llama-messages.ts'

// The process that holds the model. Whatever goes wrong in native code ends here, and the runner starts another one.

interface Job {
  readonly controller: AbortController
  credit: number
  more: () => void
}

const jobs = new Map<number, Job>()
let loaded: Loaded | undefined

const say = (message: FromEngine): void => void process.send?.(message)

function listenerOf(id: number, job: Job): Listener {
  const { signal } = job.controller
  return {
    signal,
    beat: () => say({ kind: 'beat', id }),
    async send(piece) {
      if (signal.aborted) return
      say({ kind: 'piece', id, piece })
      job.credit--
      while (job.credit <= 0 && !signal.aborted)
        await new Promise<void>((resolve) => {
          job.more = resolve
        })
    },
  }
}

async function embed(ready: Loaded, inputs: readonly (readonly number[])[], listener: Listener): Promise<number[][]> {
  const embedder = await ready.embedder()
  const vectors: number[][] = []
  for (const tokens of inputs) {
    listener.signal.throwIfAborted()
    const { vector } = await embedder.getEmbeddingFor([...tokens])
    const length = Math.hypot(...vector) || 1
    vectors.push(vector.map((value) => value / length))
    listener.beat()
  }
  return vectors
}

async function resultOf(message: ToEngine, listener: Listener): Promise<Result> {
  if (message.kind === 'load') {
    loaded = await loadModel(message.options)
    return loaded.facts
  }
  if (!loaded) throw refusal('engine_unavailable', 'no model is loaded')
  if (message.kind === 'tokenize') return loaded.prompter.tokens(message.prompt)
  if (message.kind === 'embed') return embed(loaded, message.inputs, listener)
  if (message.kind === 'run') return answer(loaded, message.run, listener)
  throw refusal('internal_error', `the engine process was asked for ${message.kind}`)
}

async function work(message: ToEngine): Promise<void> {
  const { id } = message
  const job: Job = { controller: new AbortController(), credit: creditWindow, more: () => undefined }
  jobs.set(id, job)
  try {
    say({ kind: 'result', id, result: await resultOf(message, listenerOf(id, job)) })
  } catch (error) {
    const { code, detail, message: what } = refusalFrom(error)
    if (!isRefusal(error)) process.stderr.write(`engine: ${error instanceof Error ? error.stack : String(error)}\n`)
    const why = isRefusal(error) ? what : `the engine failed: ${error instanceof Error ? error.message : String(error)}`
    const failure = { code: isRefusal(error) ? code : 'engine_failed', message: why } as const
    say({ kind: 'failed', id, ...failure, ...(detail.param === undefined ? {} : { param: detail.param }) })
  } finally {
    jobs.delete(id)
  }
}

process.on('message', (message: ToEngine) => {
  const job = jobs.get(message.id)
  if (message.kind === 'credit') {
    if (job) job.credit += message.pieces
    job?.more()
  } else if (message.kind === 'cancel') {
    job?.controller.abort()
    job?.more()
  } else void work(message)
})
// The runner decides when calls in flight may end: a Ctrl-C that reaches the whole group is not for us.
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => undefined)
process.on('disconnect', () => process.exit(0))
// A decode that fails outside any call leaves sequences in an unknown state: better a new process.
process.on('unhandledRejection', (error) => {
  process.stderr.write(`engine: unhandled: ${error instanceof Error ? error.stack : String(error)}\n`)
  process.exit(70)
})
