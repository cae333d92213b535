import { readFileSync } from 'node:fs'
import { isMap, isScalar, isSeq, type Pair, parseDocument } from 'yaml'
import type { JsonSchema } from '../../plugins/schema.ts'

/** Values whose members are the user's own: the chart knows none of their names. */
const open = new Set(['resources', 'labels', 'annotations', 'securityContext', 'selector', 'create', 'affinity'])

/** Values that are one of a few, by their path. */
const choices: Readonly<Record<string, readonly string[]>> = {
  mode: ['standalone', 'sidecar'],
  'keys.algorithm': ['HS256', 'EdDSA'],
  'gateway.image.pullPolicy': ['Always', 'IfNotPresent', 'Never'],
  'runner.image.pullPolicy': ['Always', 'IfNotPresent', 'Never'],
  'runner.kind': ['native', 'openai'],
  'runner.engine': ['echo', 'openai', 'llama'],
  'service.type': ['ClusterIP', 'NodePort', 'LoadBalancer'],
}

/**
 * The schema of a chart's values: their shape and comments from `values.yaml` itself, the configuration's from its own schema. A value
 * may be left out, and one that is unknown is a fault.
 */
export function valuesSchema(valuesFile: string, gateway: JsonSchema): JsonSchema {
  const { contents } = parseDocument(readFileSync(valuesFile, 'utf8'))
  const shape = schemaFromNode(contents, '', { 'gateway.config': configSchema(gateway) })
  // Helm adds global for parent charts.
  const properties = { ...(shape['properties'] as object), global: { type: 'object' } }
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Values of the chart foldgate',
    ...shape,
    properties,
  }
}

function schemaFromNode(node: unknown, path: string, known: Readonly<Record<string, JsonSchema>>): JsonSchema {
  if (known[path]) return known[path]
  if (choices[path]) return { enum: choices[path] }
  if (isSeq(node)) return { type: 'array' }
  if (isMap(node)) {
    const name = path.slice(path.lastIndexOf('.') + 1)
    if (open.has(name) || node.items.length === 0) return { type: 'object' }
    const members = node.items.map((pair) => memberFromPair(pair as Pair, path, known))
    return { type: 'object', additionalProperties: false, properties: Object.fromEntries(members) }
  }
  const value = isScalar(node) ? node.value : null
  if (typeof value === 'number') return { type: 'integer', minimum: 0 }
  return value === null ? { type: ['integer', 'null'] } : { type: typeof value }
}

function memberFromPair(
  { key, value }: Pair,
  path: string,
  known: Readonly<Record<string, JsonSchema>>,
): [string, JsonSchema] {
  const name = isScalar(key) ? String(key.value) : String(key)
  const description = isScalar(key) ? key.commentBefore?.replaceAll('\n', '').trim() : undefined
  const schema = schemaFromNode(value, path === '' ? name : `${path}.${name}`, known)
  return [name, { ...(description ? { description } : {}), ...schema }]
}

/** The configuration's schema inside the values: what the chart fills in may be missing, and a text may be read from a file. */
function configSchema(gateway: JsonSchema): JsonSchema {
  const { $schema: _, title: __, required: ___, ...rest } = gateway as Record<string, unknown>
  return fromFiles(rest) as JsonSchema
}

function fromFiles(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fromFiles)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) =>
      key === 'pattern' && typeof member === 'string'
        ? [key, `\\$\\{file:[^}]+\\}|${goPattern(member)}`]
        : [key, fromFiles(member)],
    ),
  )
}

/** Helm is written in Go, whose expressions spell a character by its code as `\x{1f}`. */
const goPattern = (pattern: string): string => pattern.replaceAll(/\\u([0-9a-fA-F]{4})/g, '\\x{$1}')
