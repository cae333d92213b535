import { type ClientSchema, clientSchema } from '../client-schema.ts'
import { type Fault, GatewayError } from '../errors.ts'
import { compilePath, type Path } from '../path.ts'
import { type Asked, askedRedaction } from './asked.ts'
import { withBearers, withoutCredentials } from './bearer.ts'
import { createCustomWatch } from './custom-watch.ts'
import { shadowOf } from './original.ts'
import { createPatternWatch } from './pattern-watch.ts'
import { createPhraseWatch, type SoughtPhrase } from './phrase-watch.ts'
import { foldAscii } from './phrases.ts'
import { piiShapes } from './pii.ts'
import type { EchoRules, Rules, Severity, SuffixRules, Threshold } from './rules.ts'
import type { Action, ScanPlan, Sought, WatchMaker } from './scanner.ts'

/** Rules made ready to run. */
export interface CompiledRules {
  readonly rules: Rules
  /** The same as data for a digest: without what judges are let in by. */
  readonly stated: Rules
  /** The same with what judges are let in by. */
  readonly armed: Rules
  readonly plan: ScanPlan
  /** Something that is found may end an answer. */
  readonly blocks: boolean
  /** Every one of them must hold. */
  readonly schemas: readonly ClientSchema[]
  readonly suffix: SuffixRules | undefined
  readonly echo: (EchoRules & { readonly compiled: readonly Path[] }) | undefined
}

/** Which severities end an answer under each threshold. `block_all` also minds judges' scores that are under every level. */
export const severitiesOf: Readonly<Record<Threshold, readonly Severity[]>> = {
  block_none: [],
  block_high: ['high'],
  block_medium: ['medium', 'high'],
  block_low: ['low', 'medium', 'high'],
  block_all: ['low', 'medium', 'high'],
}

/** What rules are made ready in. */
export interface Surroundings {
  /** Names that paths find in facts. */
  readonly declared: ReadonlySet<string>
  /** Gets everything that is wrong, with its path in these rules. */
  readonly faults: Fault[]
  /** Reads the files that hold judges' tokens; absent: they are not read. */
  readonly file?: (path: string) => Buffer
}

/** Makes rules ready. What is wrong is left out, and told. */
export function compileRules(rules: Rules, { declared, faults, file }: Surroundings): CompiledRules {
  const attempt = <T>(path: string, make: () => T): T | undefined => {
    try {
      return make()
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      faults.push({ path: error.detail.field?.startsWith(path) ? error.detail.field : path, message: error.message })
      return undefined
    }
  }
  const { json, echo_guard: echo, asked } = rules
  const schemas = [
    json.schema === null ? undefined : attempt('json.schema', () => clientSchema(json.schema, 'json.schema')),
    asked?.schema && attempt(askedPaths.schema, () => clientSchema(asked.schema, askedPaths.schema)),
  ]
  const customs = (rules.pii?.custom ?? []).map((each, i) =>
    attempt(`pii.custom[${i}].pattern`, () => createCustomWatch({ ...each, sought: soughtPii(rules, each.name, 15) })),
  )
  const watches = [phraseWatch(rules), shapeWatch(rules), ...customs].filter((each) => each !== undefined)
  const echoRules: EchoRules | undefined = Array.isArray(echo)
    ? { paths: echo as string[], action: 'redact', minLength: 4 }
    : ((echo as EchoRules | null) ?? undefined)
  const paths = echoRules?.paths.map((path, i) => attempt(`echo_guard.paths[${i}]`, () => compilePath(path, declared)))
  return {
    rules,
    stated: withoutCredentials(rules),
    armed: file ? withBearers(rules, (path, at) => attempt(at, () => file(path))) : rules,
    plan: { watches, nfkc: rules.phrases.nfkc },
    blocks: mayBlock(rules) || echoRules?.action === 'block',
    schemas: schemas.filter((each) => each !== undefined),
    suffix: typeof rules.suffix === 'string' ? { text: rules.suffix, field: null } : (rules.suffix ?? undefined),
    echo: echoRules && paths ? { ...echoRules, compiled: paths.filter((path) => path !== undefined) } : undefined,
  }
}

/** Where a caller's directives say what the rules hold as {@link Asked}. */
export const askedPaths = {
  schema: 'execution_context.output_constraints.json_schema',
  required: 'execution_context.system_prompt.constraints.required_phrases',
  forbidden: 'execution_context.system_prompt.constraints.forbidden_phrases',
} as const

function mayBlock({ forbidden_phrases, forbiddenAction, pii, safety, custom_safety_rules, asked }: Rules): boolean {
  const forbids = forbidden_phrases.length > 0 && forbiddenAction === 'block'
  const minds = safety.some(({ threshold }) => threshold !== 'block_none')
  const customs = [...custom_safety_rules, ...(asked?.custom_safety_rules ?? [])]
  const asks = (asked?.forbidden_phrases?.length ?? 0) > 0 && forbiddenAction !== 'redact'
  return forbids || asks || minds || pii?.mode === 'block' || customs.some(({ action }) => action === 'block')
}

/** Something that is looked for, with its place in the order of the rules as its rank. Its replacement is safe inside JSON text. */
export function soughtFor(rules: Rules, what: { rule: string; label: string; action: Action; rank: number }): Sought {
  const { rule, label, action, rank } = what
  return { rule, action, rank, replacement: rules.redaction.replaceAll('{label}', label.replace(/["\\\p{Cc}]/gu, '')) }
}

function soughtPii(rules: Rules, type: string, rank: number): Sought {
  return soughtFor(rules, { rule: `pii.${type}`, label: type, action: rules.pii?.mode ?? 'redact', rank })
}

function shapeWatch(rules: Rules): WatchMaker | undefined {
  const types = Object.keys(piiShapes) as (keyof typeof piiShapes)[]
  const wanted = types.filter((type) => rules.pii?.types.includes(type))
  return createPatternWatch(
    wanted.flatMap((type) =>
      piiShapes[type].map((shape) => ({ shape, sought: soughtPii(rules, type, 10 + types.indexOf(type) / 10) })),
    ),
  )
}

/** A phrase as it is compared. */
export function comparable(rules: Rules, phrase: string): string {
  const shown = rules.phrases.nfkc ? shadowOf(phrase) : phrase
  return rules.phrases.semantics === 'literal/1' ? shown : foldAscii(shown)
}

function phraseWatch(rules: Rules): WatchMaker | undefined {
  const forbidden = soughtFor(rules, {
    rule: 'forbidden_phrases',
    label: 'text',
    action: rules.forbiddenAction,
    rank: 0,
  })
  const list: SoughtPhrase[] = rules.forbidden_phrases.map((phrase) => ({ phrase, sought: forbidden }))
  for (const { category, threshold } of rules.safety) {
    const sought = soughtFor(rules, { rule: `safety.${category}`, label: category, action: 'block', rank: 30 })
    const terms = rules.safetyTerms[category]
    for (const severity of severitiesOf[threshold])
      for (const phrase of terms?.[severity] ?? []) list.push({ phrase, sought })
  }
  for (const { id, trigger_phrases, action } of rules.custom_safety_rules) {
    const sought = soughtFor(rules, { rule: id, label: id, action, rank: 40 })
    for (const phrase of trigger_phrases) list.push({ phrase, sought })
  }
  if (rules.asked) list.push(...askedPhrases(rules, rules.asked))
  const shown = list.map(({ phrase, sought }) => ({ phrase: comparable(rules, phrase), sought }))
  return createPhraseWatch(
    shown.filter(({ phrase }) => phrase !== ''),
    rules.phrases.semantics,
  )
}

/** What a caller forbids ends an answer, or is redacted where the operator's rules redact. */
function askedPhrases(
  { forbiddenAction }: Rules,
  { forbidden_phrases = [], custom_safety_rules = [] }: Asked,
): SoughtPhrase[] {
  const action = forbiddenAction === 'redact' ? 'redact' : 'block'
  const rules = [
    { id: 'forbidden_phrases', trigger_phrases: forbidden_phrases, action } as const,
    ...custom_safety_rules,
  ]
  return rules.flatMap(({ id, trigger_phrases, action }) => {
    const sought: Sought = { rule: id, action, rank: 50, replacement: askedRedaction }
    return trigger_phrases.map((phrase) => ({ phrase, sought }))
  })
}
