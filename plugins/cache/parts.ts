import { type Fault, gatewayError } from '../errors.ts'
import { headerNames } from '../headers.ts'
import type { Host } from '../host.ts'
import type { CacheConfig } from './config.ts'
import { createFlights, type Flights } from './flights.ts'
import { createLeases, type Leases } from './lease.ts'
import { type Pins, pinsFromConfig } from './pins.ts'
import type { Rule } from './rule.ts'
import { ruleFromConfig } from './rule-from-config.ts'
import { createScore, type Score } from './scoring.ts'
import { createStorage, type Storage } from './storage.ts'
import type { Visit } from './visit.ts'
import { type Standard, schemaFromJson } from './worth.ts'

/** What the layer is made of, for one configuration. */
export interface Parts {
  readonly config: CacheConfig
  readonly host: Host
  readonly rule: Rule
  readonly pins: Pins
  readonly storage: Storage
  readonly flights: Flights
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

/** Builds the parts. Throws `config_invalid` with every fault, paths relative to the layer's section. */
export function createParts(config: CacheConfig, host: Host): Parts {
  const faults: Fault[] = []
  const rule = ruleFromConfig(config, host.declared, faults)
  const pins = pinsFromConfig(config, rule, { host, faults })
  const { json_schema, quality_score } = config.output_validation ?? {}
  const schema = json_schema && schemaFromJson(json_schema, 'output_validation.json_schema', faults)
  const scorer = quality_score?.scorer
  if (scorer && 'runner' in scorer && !host.runners.names.includes(scorer.runner)) {
    faults.push({ path: 'output_validation.quality_score.scorer.runner', message: 'is not one of the runners' })
  }
  const [first] = faults
  if (first) throw gatewayError('config_invalid', `${first.path}: ${first.message}`, { faults, field: first.path })
  return {
    config,
    host,
    rule,
    pins,
    storage: createStorage(config, host),
    flights: createFlights(),
    leases: host.store.kind === 'redis' ? createLeases(host.store) : undefined,
    standard: { finishReasons: new Set(config.finishReasons), schema },
    score: scorer && createScore(scorer, host),
    hintHeader: hintHeaderOf(host),
    visits: new Map(),
  }
}

/** Under the same prefix as the header that names a conversation. */
function hintHeaderOf({ conversationHeader }: Host): string {
  const tail = 'conversation-id'
  return conversationHeader.endsWith(tail)
    ? headerNames(conversationHeader.slice(0, -tail.length)).cacheHint
    : headerNames().cacheHint
}
