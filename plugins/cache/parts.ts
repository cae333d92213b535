import { clientSchema } from '../client-schema.ts'
import type { Fault } from '../errors.ts'
import { headerNames } from '../headers.ts'
import type { Host } from '../host.ts'
import { type FoldedStep, throwFaults } from './fold.ts'
import { createLeases, type Leases } from './lease.ts'
import { type Pins, pinsFromStep } from './pins.ts'
import type { Rule } from './rule.ts'
import { ruleFromConfig } from './rule-from-config.ts'
import { createScore, type Score } from './scoring.ts'
import { type Shared, sharedFor } from './shared.ts'
import type { CacheStep } from './step.ts'
import type { Visit } from './visit.ts'
import { type Standard, schemaFromJson } from './worth.ts'

/** What the layer is made of, for one step on one side. */
export interface Parts extends Shared {
  readonly step: CacheStep
  readonly host: Host
  readonly rule: Rule
  readonly pins: Pins
  /** Undefined where there is no other replica to agree with. */
  readonly leases: Leases | undefined
  readonly standard: Standard
  /** Undefined where answers are not scored. */
  readonly score: Score | undefined
  /** The request header of a caller's hint, lower case. */
  readonly hintHeader: string
  /** Calls that went further in, by id. */
  readonly visits: Map<string, Visit>
}

/** Builds the parts. Throws `config_invalid` with every fault, paths inside the step, or where the step says they came from. */
export function createParts({ step, places, faults: before }: FoldedStep, host: Host): Parts {
  const faults: Fault[] = [...before]
  const rule = ruleFromConfig(step, new Set(step.declared), faults)
  const pins = pinsFromStep(step, rule, { places, faults })
  const scorer = step.output_validation?.quality_score?.scorer
  if (scorer && 'runner' in scorer && !host.runners.names.includes(scorer.runner)) {
    faults.push({ path: 'output_validation.quality_score.scorer.runner', message: 'is not one of the runners' })
  }
  const standard = standardOf(step, faults)
  throwFaults(faults)
  return {
    ...sharedFor(step, host),
    step,
    host,
    rule,
    pins,
    leases: host.store.kind === 'redis' ? createLeases(host.store, host.side) : undefined,
    standard,
    score: scorer && createScore(scorer, host),
    hintHeader: headerNames(step.headerPrefix).cacheHint,
    visits: new Map(),
  }
}

function standardOf({ finishReasons, output_validation, added }: CacheStep, faults: Fault[]): Standard {
  const own = output_validation?.json_schema
  const schema = own && schemaFromJson(own, 'output_validation.json_schema', faults)
  const asked = added?.json_schema && clientSchema(added.json_schema, 'added.json_schema')
  return {
    finishReasons: new Set(finishReasons),
    schemas: [...(schema ? [schema] : []), ...(asked ? [asked] : [])],
    least: Math.max(output_validation?.quality_score?.min ?? 0, added?.min ?? 0),
  }
}
