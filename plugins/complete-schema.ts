import type { JsonSchema } from './schema.ts'

/**
 * A schema of settings for values whose defaults are written out, as steps have them: what had a default is required. `travelling` holds
 * what stands in place of members by that name, wherever they are.
 */
export function completeSchema(schema: JsonSchema, travelling: Readonly<Record<string, JsonSchema>> = {}): JsonSchema {
  const { default: _default, properties, required = [], ...rest } = schema
  const all = (members: readonly (readonly [string, unknown])[]): Readonly<Record<string, JsonSchema>> =>
    Object.fromEntries(members.map(([name, member]) => [name, completeSchema(member as JsonSchema, travelling)]))
  const members = Object.entries((properties ?? {}) as Readonly<Record<string, JsonSchema>>)
  const filled = members.filter(([, member]) => Object.hasOwn(member, 'default')).map(([name]) => name)
  const inner: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(rest)) {
    const nested = key === 'additionalProperties' || key === 'items'
    inner[key] = nested && typeof value === 'object' ? completeSchema(value as JsonSchema, travelling) : value
  }
  if (rest['patternProperties']) inner['patternProperties'] = all(Object.entries(rest['patternProperties']))
  if (members.length === 0) return inner
  return {
    ...inner,
    required: [...new Set([...(required as readonly string[]), ...filled])],
    properties: all(members.map(([name, member]) => [name, travelling[name] ?? member])),
  }
}
