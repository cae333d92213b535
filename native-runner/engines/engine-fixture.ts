import { creditWindow } from './engine-work.ts'
import type { FromEngine, ToEngine } from './llama-messages.ts'

// A stand-in for the engine process in tests: the scope of a run says how it behaves.

const say = (message: FromEngine): void => void process.send?.(message)
const facts = {
  contextTokens: 9,
  vocabularySize: 9,
  tokenChars: 9,
  embeddingTokens: 9,
  threads: 1,
  device: 'cpu',
  release: '0',
}
const credits = new Map<number, number>()

function speak(id: number): void {
  while ((credits.get(id) ?? 0) > 0) {
    credits.set(id, credits.get(id)! - 1)
    say({ kind: 'piece', id, piece: { kind: 'delta', index: 0, delta: { content: 'x' }, tokens: 1 } })
  }
}

function run(id: number, scope: string): void {
  credits.set(id, scope === 'endless' ? creditWindow : 1)
  speak(id)
  if (scope === 'crash') process.exit(7)
  if (scope === 'short') {
    say({ kind: 'piece', id, piece: { kind: 'finish', index: 0, reason: 'stop' } })
    say({ kind: 'result', id, result: { prompt: 1, cached: 0, completion: 1 } })
  }
}

process.on('message', (message: ToEngine) => {
  const { id } = message
  if (message.kind === 'load') {
    if (message.options.modelPath === 'missing')
      say({ kind: 'failed', id, code: 'model_unavailable', message: 'no model' })
    else say({ kind: 'result', id, result: facts })
  } else if (message.kind === 'run') run(id, message.run.scope)
  else if (message.kind === 'credit' && credits.has(id)) {
    credits.set(id, credits.get(id)! + message.pieces)
    speak(id)
  } else if (message.kind === 'cancel') {
    credits.delete(id)
    say({ kind: 'result', id, result: { prompt: 1, cached: 0, completion: 0 } })
  }
})
process.on('disconnect', () => process.exit(0))
