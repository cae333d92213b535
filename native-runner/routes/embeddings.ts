import { invalid, numberField, stringField } from '../fields.ts'
import { modelFrom } from '../generation.ts'
import { bodyFrom, type Route } from './route.ts'

function base64FromVector(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4)
  for (const [at, value] of vector.entries()) bytes.writeFloatLE(value, at * 4)
  return bytes.toString('base64')
}

/** `POST /v1/embeddings`: one input or many, as floats or as base64 of little-endian 32-bit floats. */
export const embeddings: Route = {
  method: 'POST',
  path: '/v1/embeddings',
  executes: ['embeddings'],
  async answer(asked, { engine, meter }) {
    const body = bodyFrom(asked)
    const format = stringField(body, 'encoding_format') ?? 'float'
    if (format !== 'float' && format !== 'base64') throw invalid('encoding_format', 'must be "float" or "base64"')
    const dimensions = numberField(body, 'dimensions', { min: 1, max: 65_536, integer: true })
    const { id } = await modelFrom(body, engine)
    const { vectors, promptTokens } = await engine.embed(body, asked.signal)
    const size = vectors[0]?.length
    if (dimensions !== undefined && dimensions !== size) throw invalid('dimensions', `must be ${size}, the model's own`)
    meter.prompted(promptTokens)
    const found = vectors.map((vector, index) => {
      const embedding = format === 'float' ? vector : base64FromVector(vector)
      return { object: 'embedding', index, embedding }
    })
    const usage = { prompt_tokens: promptTokens, total_tokens: promptTokens }
    return { status: 200, body: { object: 'list', data: found, model: id, usage } }
  },
}
