import { jsonFromText } from '../chat.ts'
import { type Completion, type CompletionChoice, isComplete } from '../chunks.ts'
import type { Fault } from '../errors.ts'
import { createSchema, type JsonSchema, type Schema } from '../schema.ts'

/** Why an answer is not kept: a closed list, for the log. */
export type Unworthy = 'incomplete' | 'finish-reason' | 'schema' | 'error'

/** What an answer is held to before it is kept. */
export interface Standard {
  readonly finishReasons: ReadonlySet<string>
  /** The text of every choice must fit each of them. */
  readonly schemas: readonly Pick<Schema<unknown>, 'faults'>[]
  /** Least score, where answers are scored. */
  readonly least: number
}

/**
 * Why an answer that ended cleanly is not to be kept; undefined when it is. `choices` is how many the call asked for (`n`). An
 * embedding list has no choices, and is kept when it has its vectors.
 */
export function unworthiness(completion: Completion, choices: number, standard: Standard): Unworthy | undefined {
  if (completion['error'] !== undefined && completion['error'] !== null) return 'error'
  if (!completion.choices) return Array.isArray(completion['data']) ? undefined : 'incomplete'
  if (!isComplete(completion) || completion.choices.length < choices) return 'incomplete'
  const { finishReasons, schemas } = standard
  if (!completion.choices.every((choice) => finishReasons.has(choice.finish_reason as string))) return 'finish-reason'
  return schemas.length > 0 && !completion.choices.every((choice) => fits(choice, schemas)) ? 'schema' : undefined
}

function fits(choice: CompletionChoice, schemas: Standard['schemas']): boolean {
  const text = choice.text ?? choice.message?.content
  if (typeof text !== 'string') return false
  try {
    const value = jsonFromText(text)
    return schemas.every((schema) => schema.faults(value).length === 0)
  } catch {
    return false
  }
}

/** An operator's JSON Schema, compiled now, so that a wrong one is a fault of the configuration; a reference is never fetched. */
export function schemaFromJson(json: JsonSchema, at: string, faults: Fault[]): Schema<unknown> | undefined {
  // Names and dialects are global to the validator, where a second configuration with the same name would clash.
  const { $id: _name, $schema: _dialect, ...rest } = json
  const schema = createSchema<unknown>(rest)
  try {
    schema.faults(null)
    schema.faults({})
    return schema
  } catch (reason) {
    const why = reason instanceof Error ? `: ${reason.message}` : ''
    faults.push({ path: at, message: `is not a schema that can be checked${why}` })
    return undefined
  }
}
