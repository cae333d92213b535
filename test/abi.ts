import { directivesSchema } from '../plugins/directives.ts'
import { documentSchemas } from '../plugins/execution-context-documents.ts'
import { layers } from '../plugins/index.ts'
import { type Layer, probeModel } from '../plugins/layer.ts'
import type { Laws } from './conformance/laws.ts'
import { lawCaseOf } from './conformance/own-half.ts'
import { workedExample } from './conformance/worked-example.ts'

const draft = 'http://json-schema.org/draft-07/schema#'
const text = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`
const all: readonly Layer[] = layers
// Asked once, when somebody wants to know what the files should say: some layers take a turn of the event loop to decide.
const laws: Laws = { model: probeModel, layers: Object.fromEntries((await Promise.all(all.map(lawsOf))).flat()) }

/** The files that a runner in another language is written from: schemas of the documents and steps, the laws' cases, an example with its bytes. */
export const abiFiles: Readonly<Record<string, () => string>> = {
  ...Object.fromEntries(
    Object.entries({ ...documentSchemas, directives: directivesSchema }).map(([name, schema]) => [
      `native-runner/abi/${name}.schema.json`,
      () => text({ $schema: draft, ...schema }),
    ]),
  ),
  'native-runner/abi/steps.schema.json': () => text(stepsSchema()),
  'native-runner/abi/laws.json': () => text(laws),
  'native-runner/abi/example.json': () => text(workedExample()),
}

/** What `step` of a policy may be, by its layer. */
function stepsSchema(): object {
  const steps = all.flatMap(({ name, native }) =>
    native ? [[name, { title: `${name}, version ${native.version}`, ...native.step.json }] as const] : [],
  )
  return {
    $schema: draft,
    title: 'Steps',
    description: 'The step of each layer, by the layer’s name.',
    type: 'object',
    properties: Object.fromEntries(steps),
    additionalProperties: false,
  }
}

/** The calls that a runner is tried with, as they travel, and what it must say of each. */
async function lawsOf(layer: Layer): Promise<[string, Laws['layers'][string]][]> {
  const { name, native } = layer
  if (!native) return []
  const cases = await Promise.all(native.probes.map((probe) => lawCaseOf(layer, probe)))
  return [[name, { version: native.version, cases }]]
}
