import { jsonFromBody } from './chat.ts'
import { createSchema, type JsonSchema, joinPath } from './schema.ts'

declare module './call.ts' {
  interface Facts {
    /** What the caller asks of the layers, where it does and all of it holds; undefined once something turned out not to. Written by the server. */
    directives: Directives | undefined
  }
}

/**
 * What a client may ask in the body member `execution_context`. Each layer reads its own members in `tighten` and checks them: here only the
 * outline is known.
 */
export interface Directives {
  readonly routing?: Readonly<Record<string, unknown>>
  readonly cache?: Readonly<Record<string, unknown>>
  readonly system_prompt?: Readonly<Record<string, unknown>>
  readonly output_constraints?: Readonly<Record<string, unknown>>
  readonly auth?: Readonly<Record<string, unknown>>
  readonly rate_limit?: Readonly<Record<string, unknown>>
  readonly safety?: readonly unknown[]
  readonly custom_safety_rules?: readonly unknown[]
  readonly post_processing_hooks?: readonly unknown[]
  readonly debug_force_fallback?: boolean
}

const object: JsonSchema = { type: 'object', maxProperties: 64 }
const list: JsonSchema = { type: 'array', maxItems: 64 }

/** The outline of the directives, as published. */
export const directivesSchema: JsonSchema = {
  title: 'Directives',
  description: 'The body member execution_context of a request: what a client may ask. Only ever tightens.',
  type: 'object',
  additionalProperties: false,
  properties: {
    routing: object,
    cache: object,
    system_prompt: object,
    output_constraints: object,
    auth: object,
    rate_limit: object,
    safety: list,
    custom_safety_rules: list,
    post_processing_hooks: list,
    debug_force_fallback: { type: 'boolean' },
  },
}
const outline = createSchema<Directives>(directivesSchema)

/** The body members that directives stand in. */
export const directiveMembers = ['execution_context', 'x-execution-context'] as const

/** Most bytes of directives, as compact JSON. */
export const maxDirectiveBytes = 65_536

/** The directives of a body, or the path of what is wrong with them. */
export type FoundDirectives = { readonly directives: Directives } | { readonly fault: string }

/** How a body is read for its directives. */
export interface DirectivesReading {
  /** Default {@link directiveMembers}; a gateway adds the name under its own prefix. */
  readonly members?: readonly string[]
  /** The body as JSON, where somebody has parsed it already. */
  readonly parse?: (body: Buffer) => unknown
}

/**
 * The directives that a body bears; undefined when it bears none, or is no JSON object at all. The body is parsed only if the name of the
 * member stands in its bytes. Checked here: the outline, the size, and that they stand in one member only.
 */
export function directivesFromBody(
  body: Buffer,
  { members = directiveMembers, parse = jsonFromBody }: DirectivesReading = {},
): FoundDirectives | undefined {
  if (!needlesOf(members).some((needle) => standsIn(body, needle))) return undefined
  const parsed = parsedFrom(body, parse)
  const [found, twice] = members.filter((member) => parsed && Object.hasOwn(parsed, member))
  if (!parsed || found === undefined) return undefined
  if (twice !== undefined) return { fault: twice }
  const value = parsed[found]
  const [fault] = outline.faults(value)
  if (fault) return { fault: joinPath(found, fault.path).replace(/\.$/, '') }
  if (Buffer.byteLength(JSON.stringify(value)) > maxDirectiveBytes) return { fault: found }
  return { directives: value as Directives }
}

/** An object without the members that directives stand in; the same one when it has none. */
export function withoutDirectives<T extends object>(request: T, members: readonly string[] = directiveMembers): T {
  if (!members.some((member) => Object.hasOwn(request, member))) return request
  return Object.fromEntries(Object.entries(request).filter(([name]) => !members.includes(name))) as T
}

interface Needle {
  readonly beginning: string
  readonly whole: string
}

const needles = new WeakMap<readonly string[], readonly Needle[]>()

/** How members are looked for in bytes, worked out once for each list of them. */
function needlesOf(members: readonly string[]): readonly Needle[] {
  let made = needles.get(members)
  if (!made) {
    made = members.map((member) => ({ beginning: `"${member}"`.slice(0, 7), whole: `"${member}"` }))
    needles.set(members, made)
  }
  return made
}

/** Up to seven bytes Node looks for at memory speed; only a body that has them is searched for the whole name. */
function standsIn(body: Buffer, { beginning, whole }: Needle): boolean {
  return body.includes(beginning) && body.includes(whole)
}

function parsedFrom(body: Buffer, parse: (body: Buffer) => unknown): Record<string, unknown> | undefined {
  try {
    const value = parse(body)
    return value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
