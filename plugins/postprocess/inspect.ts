import type { Fault } from '../errors.ts'
import type { Seat } from '../host.ts'
import type { StepFinding } from '../layer.ts'
import type { CompileCode } from '../policy-report.ts'
import { type CompiledRules, compileRules } from './compile.ts'
import { clashesIn, conflictsIn } from './conflicts.ts'
import type { Rules } from './rules.ts'
import type { PostprocessStep } from './step.ts'
import { variantsOf } from './variants.ts'

/** The most phrases that are looked for in the answers of one route and tenant. */
export const maxPhrases = 1_000

/** How much of a step this runner can hold to. `soft` where a rule can only be checked once the answer is made. */
export function inspectStep({ declared, asked: _asked, ...config }: PostprocessStep, seat: Seat): StepFinding {
  const names = new Set(declared)
  let soft: StepFinding | undefined
  for (const { at, rules } of variantsOf(config)) {
    const faults: Fault[] = []
    const compiled = compileRules(rules, { declared: names, faults })
    const found = fromFault(faults[0]) ?? unsatisfiable(compiled) ?? tooMany(rules) ?? outOfReach(rules, seat)
    if (found) return placed(found, at)
    soft ??= placed(checkedAfter(rules), at)
  }
  return soft ?? { status: 'compiled' }
}

/** Paths inside a variant as paths inside the step. */
function placed(found: StepFinding, at: string): StepFinding
function placed(found: StepFinding | undefined, at: string): StepFinding | undefined
function placed(found: StepFinding | undefined, at: string): StepFinding | undefined {
  if (!found) return undefined
  const { path = '', value } = found
  const pair: readonly string[] | undefined = typeof value === 'object' ? value : undefined
  return { ...found, path: at + path, ...(pair && { value: [`${at}${pair[0]}`, `${at}${pair[1]}`] as const }) }
}

const refused = (code: CompileCode, path: string, advice: string): StepFinding => ({
  status: 'refused',
  code,
  path,
  try: advice.slice(0, 1_024),
})

function fromFault(fault: Fault | undefined): StepFinding | undefined {
  return fault && refused(codeOf(fault), fault.path, fault.message)
}

function codeOf({ path, message }: Fault): CompileCode {
  const many = /more than|longer than|deeper than/.test(message)
  if (!many && (/(^|\.)enum(\[\d+\])?$/.test(path) || /\benum must\b/.test(message))) return 'INVALID_ENUM_VALUE'
  if (/(^|\.)\$\w*[rR]ef$/.test(path) || path.startsWith('echo_guard')) return 'UNRESOLVED_REF'
  return many ? 'SCHEMA_TOO_COMPLEX' : 'UNSUPPORTED_KEYWORD'
}

function unsatisfiable(compiled: CompiledRules): StepFinding | undefined {
  const [clash] = clashesIn(compiled)
  if (clash)
    return {
      ...refused('UNSATISFIABLE', clash.paths[0], `change one of the two: ${clash.message}`),
      value: clash.paths,
    }
  const [fault] = conflictsIn(compiled)
  return fault && refused('UNRESOLVED_REF', fault.path, fault.message)
}

function tooMany(rules: Rules): StepFinding | undefined {
  const lists: [string, number][] = [
    ['forbidden_phrases', rules.forbidden_phrases.length],
    ['required_phrases', rules.required_phrases.length],
    ['custom_safety_rules', sum(rules.custom_safety_rules.map((each) => each.trigger_phrases.length))],
    ['safetyTerms', sum(Object.values(rules.safetyTerms).flatMap((terms) => Object.values(terms).map(lengthOf)))],
  ]
  const value = sum(lists.map(([, length]) => length))
  if (value <= maxPhrases) return undefined
  const [path] = lists.toSorted((a, b) => b[1] - a[1])[0] as [string, number]
  const advice = `at most ${maxPhrases} phrases for one route and tenant; a pattern under pii.custom can stand for many`
  return { ...refused('PHRASE_LIMIT', path, advice), limit: maxPhrases, value }
}

const lengthOf = (list: readonly unknown[] | undefined): number => list?.length ?? 0
const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0)

/** What these rules reach for and this runner does not have: hosts, secret files, models, a store that somebody else reads. */
function outOfReach(rules: Rules, seat: Seat): StepFinding | undefined {
  const { moderation, quality_score: quality, review } = rules
  const urls: [string, string | null | undefined][] = [
    ['moderation.url', moderation?.kind === 'endpoint' ? moderation.url : null],
    ['quality_score.url', quality?.scorer === 'endpoint' ? quality.url : null],
    ['review.webhook', review?.webhook],
  ]
  for (const [path, url] of urls) {
    if (url && !seat.allows(url)) return egressDenied(path, url)
  }
  for (const name of ['moderation', 'quality_score', 'review'] as const) {
    const file = rules[name]?.tokenFile
    if (file && !seat.has(file))
      return unresolved(`${name}.tokenFile`, file, 'put a file of this name into the secrets folder of the runner')
  }
  const models: [string, string | undefined][] = [
    ['moderation.model', moderation?.kind === 'guard-model' ? moderation.model : undefined],
    ['quality_score.model', quality?.scorer === 'judge' ? quality.model : undefined],
  ]
  for (const [path, model] of models) {
    if (model !== undefined && !seat.models.includes(model))
      return unresolved(path, model, `serve it, or name one of: ${seat.models.slice(0, 16).join(', ')}`)
  }
  if (review?.stream && seat.store.kind === 'embedded')
    return unresolved(
      'review.stream',
      review.stream,
      'start the runner with the store that reviewers read, or name a webhook',
    )
  return undefined
}

function unresolved(path: string, value: string, advice: string): StepFinding {
  return { ...refused('UNRESOLVED_REF', path, advice), value: value.slice(0, 512) }
}

function egressDenied(path: string, url: string): StepFinding {
  const { host } = new URL(url)
  return { ...refused('EGRESS_DENIED', path, `start the runner with --egress ${host}`), value: host.slice(0, 512) }
}

/** The first rule that holds only because the answer is checked once it is made, and then repaired, asked for again or refused. */
function checkedAfter(rules: Rules): StepFinding | undefined {
  const path =
    (rules.json.schema !== null && 'json.schema') ||
    (rules.required_phrases.length > 0 && 'required_phrases') ||
    (rules.min_output_length > 0 && 'min_output_length')
  if (!path) return undefined
  const advice = 'it is checked once the answer is made, which is then repaired, asked for again or refused with 422'
  return { status: 'soft', code: 'UNSUPPORTED_KEYWORD', path, try: advice }
}
