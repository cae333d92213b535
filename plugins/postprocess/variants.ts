import type { Config } from './config.ts'
import { rulesFor } from './rule.ts'
import type { Rules } from './rules.ts'

/** The rules that hold for all, for one route, or for one tenant, and where they stand in the settings. */
export interface Variant {
  /** Empty, or such as `tenants.acme.`. */
  readonly at: string
  readonly rules: Rules
}

/** The rules for all, for each route and for each tenant that has some of its own. */
export function variantsOf(config: Config): Variant[] {
  return [
    { at: '', rules: rulesFor(config, '', undefined) },
    ...Object.keys(config.routes).map((name) => ({ at: `routes.${name}.`, rules: rulesFor(config, name, undefined) })),
    ...Object.keys(config.tenants).map((name) => ({ at: `tenants.${name}.`, rules: rulesFor(config, '', name) })),
  ]
}
