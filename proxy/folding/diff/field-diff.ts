import { type DifferenceParts, kindOf } from './difference.ts'
import { bodyClass } from './field-class.ts'
import { type JsonDifference, sameJson } from './json-difference.ts'
import { shown } from './shown-value.ts'
import { collectKeys, shapeDifferences, shapeOf } from './text-shape.ts'
import { divergenceOf, normalisedText } from './words.ts'

/** A place of an answer's body that two answers were found to differ in, or may differ in; `path` is normalised. */
export type FieldPair = Pick<JsonDifference, 'path' | 'old' | 'now'>

/**
 * The differences of a field that is not compared member by member: texts, tool arguments, ids, instants, shapes, vectors. Undefined for
 * all others.
 */
export function diffField(pair: FieldPair): readonly DifferenceParts[] | undefined {
  const of = bodyClass(pair.path)
  if (of === 'P') return sameForm(pair) ? [] : [plain(pair, { class: 'P', kind: absent(pair) ?? 'shape' })]
  if (of === 'I') return []
  if (/arguments$/.test(pair.path) || pair.path === 'content[*].input') return diffArguments(pair)
  if (of === 'T' && typeof pair.old === 'string' && typeof pair.now === 'string') return diffText(pair)
  return pair.path === 'data[*].embedding' ? diffVector(pair) : undefined
}

/** A difference of all other fields. What one side lacks, and a text that is none, is held exactly: a client has to cope with it. */
export function differenceOfField({ path, kind, old, now }: JsonDifference): DifferenceParts {
  const of = bodyClass(path)
  const oneSided = (kind === 'missing' || kind === 'added') && of !== 'P' && !path.includes('_details.')
  const notText = kind === 'type' && of === 'T' && !path.endsWith('.refusal')
  const flag = of === 'T' && path.endsWith('.refusal') ? 'S' : of
  return plain({ path, old, now }, { class: oneSided || notText ? 'H' : flag, kind })
}

/** Members that hold words of a protocol and counts, never what people or models wrote. */
const protocol =
  /(^|\.)(model|object|role|type|code|status|finish_reason|stop_reason|index|created)$|^(usage\.[\w.]+|choices|data|choices\[\*\]\.message\.tool_calls)$/

function plain({ path, old, now }: FieldPair, says: Pick<DifferenceParts, 'class' | 'kind'>): DifferenceParts {
  const showing = { plain: protocol.test(path) }
  return {
    ...says,
    path: bodyPath(path),
    kinds: [kindOf(old), kindOf(now)],
    shown: [shown(old, showing), shown(now, showing)],
  }
}

function bodyPath(path: string): string {
  return path === '' ? 'body' : `body.${path}`
}

function absent({ old, now }: FieldPair): 'missing' | 'added' | undefined {
  return now === undefined ? 'missing' : old === undefined ? 'added' : undefined
}

/** How far apart the instants of two answers may be, in seconds. */
const secondsApart = 300

function sameForm({ path, old, now }: FieldPair): boolean {
  if (kindOf(old) !== kindOf(now)) return false
  if (path === 'created') return Math.abs(Number(old) - Number(now)) <= secondsApart
  if (typeof old === 'string') return idForm(old) === idForm(now as string)
  return keysOf(old) === keysOf(now)
}

/** `chatcmpl-` of `chatcmpl-8f3…`, and whether anything follows. */
function idForm(id: string): string {
  return `${/^[a-z]+[-_]/i.exec(id)?.[0] ?? ''}${id === '' ? '' : '#'}`
}

function keysOf(value: unknown): string {
  const keys = new Set<string>()
  collectKeys(value, { path: '', depth: 0 }, keys)
  return [...keys].sort().join()
}

function diffText({ path, old, now }: FieldPair): readonly DifferenceParts[] {
  const [one, two] = [normalisedText(old as string), normalisedText(now as string)]
  const divergence = divergenceOf(one, two)
  if (!divergence) return []
  const at = divergence.at
  const kinds = ['string', 'string'] as const
  const text: DifferenceParts = {
    class: 'T',
    kind: 'text',
    path: bodyPath(path),
    kinds,
    divergence,
    shown: [shown(one, { at }), shown(two, { at })],
  }
  if (path === 'error.message') return [text]
  const shapes = shapeDifferences(shapeOf(one), shapeOf(two))
  return [
    text,
    ...shapes.map((part): DifferenceParts => ({ class: 'S', kind: 'shape', path: `${bodyPath(path)}.${part}`, kinds })),
  ]
}

/** Arguments of a tool are JSON: how it is written does not count, its members are structure, their values text. */
function diffArguments({ path, old, now }: FieldPair): readonly DifferenceParts[] | undefined {
  if (old === undefined || now === undefined) return undefined
  const [one, two] = [jsonOf(old), jsonOf(now)]
  if (sameJson(one, two)) return []
  const same = keysOf(one) === keysOf(two)
  const says = { class: same ? 'T' : 'S', kind: same ? 'value' : 'keys' } as const
  return [{ ...says, path: bodyPath(path), kinds: [kindOf(one), kindOf(two)], shown: [shown(old), shown(now)] }]
}

function jsonOf(value: unknown): unknown {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value || '{}')
  } catch {
    return value
  }
}

/** A vector counts as one number: how far apart two are is for similarity to say. */
function diffVector(pair: FieldPair): readonly DifferenceParts[] | undefined {
  const { old, now } = pair
  const size = (value: unknown): number => (typeof value === 'string' || Array.isArray(value) ? value.length : -1)
  if (kindOf(old) !== kindOf(now)) return undefined
  if (size(old) !== size(now))
    return [plain({ ...pair, old: size(old), now: size(now) }, { class: 'H', kind: 'length' })]
  return sameJson(old, now) ? [] : [plain(pair, { class: 'N', kind: 'value' })]
}
