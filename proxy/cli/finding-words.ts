import type { CompileCode, LayerReport } from '../../plugins/policy-report.ts'

/** What a runner found of one rule, as it reports it, without the time it took. */
export type RuleFinding = Omit<LayerReport, 'ms'>

/** What each code means, in words. */
const meanings: Readonly<Record<CompileCode, string>> = {
  SCHEMA_TOO_COMPLEX: 'a JSON schema in it is larger or deeper than a runner compiles',
  INVALID_ENUM_VALUE: 'a value in it is none that a runner knows',
  CYCLIC_REFERENCE: 'a JSON schema in it refers to itself',
  UNRESOLVED_REF: 'it names something that is not there',
  UNSUPPORTED_KEYWORD: 'it asks for something that a runner cannot do',
  UNSATISFIABLE: 'two things that it asks for cannot both be had',
  GRAMMAR_TOO_LARGE: 'the grammar that it needs is too large',
  PHRASE_LIMIT: 'it has more phrases, or longer ones, than a runner watches for',
  UNKNOWN_LAYER: 'the runner has no such layer',
  VERSION_MISMATCH: 'the runner executes another version of the layer',
  EGRESS_DENIED: 'it needs a host that the runner opens no connections to',
}

/** A finding in one line: `compiled`, or the status with its code, what that means, where, and what would do. */
export function wordsFromReport({ status, code, limit, value, path, try: rewrite }: RuleFinding): string {
  if (status === 'compiled' || code === undefined) return status
  const figures = [
    ...(value === undefined ? [] : [`value ${Array.isArray(value) ? value.join(' and ') : value}`]),
    ...(limit === undefined ? [] : [`limit ${limit}`]),
  ]
  const part = status === 'soft' ? ' (enforced in part; the gateway goes on checking)' : ''
  const where = path ? ` at ${path}` : ''
  const measured = figures.length > 0 ? ` (${figures.join(', ')})` : ''
  return `${status}${part}: ${code}: ${meanings[code]}${where}${measured}${rewrite ? `; try: ${rewrite}` : ''}`
}
