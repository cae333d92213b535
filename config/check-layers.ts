import { GatewayError } from '../plugins/errors.ts'
import { compilePath } from '../plugins/path.ts'
import type { Check } from './check.ts'
import { valueAt } from './wording.ts'

const some: Check = {
  reads: ['layers'],
  run({ layers }, notes) {
    if (Object.keys(layers).length === 0)
      notes.warn('layers', 'is empty: calls go to the runner as they come, unchecked')
  },
}

const hashFields: Check = {
  reads: ['layers.cache'],
  run({ layers }, notes) {
    const fields = valueAt(layers, 'cache.input_hash_fields')
    if (!Array.isArray(fields)) return
    const path = 'layers.cache.input_hash_fields'
    const texts = fields.map((field: unknown) => (typeof field === 'string' ? field : valueAt(field, 'path')))
    if (texts.some((text) => typeof text === 'string' && coversLastMessage(text))) return
    notes.warn(path, 'does not cover the last user message (messages[-1].content): different questions get one answer')
  },
}

/** Whether a hash field holds the last message of every conversation: the last one's content, or all messages. */
function coversLastMessage(text: string): boolean {
  try {
    const { source, steps } = compilePath(text, new Set())
    const [first, index, member] = steps
    if (source !== 'body') return false
    if (first === 'prompt' || first === 'input') return steps.length === 1
    const whole =
      steps.length === 1 || (index === -1 && (steps.length === 2 || (member === 'content' && steps.length === 3)))
    return first === 'messages' && whole
  } catch (reason) {
    if (reason instanceof GatewayError) return false
    throw reason
  }
}

/** Checks over the layers' own sections. */
export const layerChecks: readonly Check[] = [some, hashFields]
