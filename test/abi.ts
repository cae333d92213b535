import { directivesSchema } from '../plugins/directives.ts'
import { documentSchemas } from '../plugins/execution-context-documents.ts'
import { layers } from '../plugins/index.ts'
import type { Layer } from '../plugins/layer.ts'
import { probeModel } from '../plugins/layer.ts'

const draft = 'http://json-schema.org/draft-07/schema#'
const text = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`
const all: readonly Layer[] = layers

/** The files that a runner in another language is written from: a schema for each document, one for the steps, and the cases of the laws. */
export const abiFiles: Readonly<Record<string, () => string>> = {
  ...Object.fromEntries(
    Object.entries({ ...documentSchemas, directives: directivesSchema }).map(([name, schema]) => [
      `native-runner/abi/${name}.schema.json`,
      () => text({ $schema: draft, ...schema }),
    ]),
  ),
  'native-runner/abi/steps.schema.json': () => text(stepsSchema()),
  'native-runner/abi/laws.json': () => text({ model: probeModel, layers: Object.fromEntries(all.flatMap(casesOf)) }),
}

/** What `step` of a policy may be, by its layer. */
function stepsSchema(): object {
  const steps = all.flatMap(({ name, native }) =>
    native ? [[name, { version: native.version, ...native.step.json }] as const] : [],
  )
  return {
    $schema: draft,
    title: 'Steps',
    description: 'The step of each layer, by the layer’s name; `version` is the one that the schema is of.',
    type: 'object',
    properties: Object.fromEntries(steps.map(([name, { version: _, ...schema }]) => [name, schema])),
    additionalProperties: false,
  }
}

/** The calls that a runner is tried with, and what it must say of each. Its `model` stands for one that the runner serves. */
function casesOf({ name, native }: Layer): [string, unknown][] {
  if (!native) return []
  return [[name, { version: native.version, cases: native.probes }]]
}
