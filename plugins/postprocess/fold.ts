import type { FoldSource } from '../host.ts'
import { judgeWithHeaders, withNamedTokens } from './bearer.ts'
import type { Config } from './config.ts'
import type { Rules } from './rules.ts'
import type { PostprocessStep } from './step.ts'

/** Why these settings never leave the gateway, in words; undefined when nothing keeps them. */
export function staysInGateway({ routes, tenants, ...rules }: Config): string | undefined {
  const places: [string, Partial<Rules> | undefined][] = [
    ['', rules],
    ...Object.entries(routes).map(([name, each]) => [`routes.${name}.`, each] as [string, Partial<Rules>]),
    ...Object.entries(tenants).map(([name, each]) => [`tenants.${name}.`, each] as [string, Partial<Rules>]),
  ]
  for (const [at, each] of places) {
    const judge = each && judgeWithHeaders(each)
    if (judge)
      return `${at}${judge}.headers may hold a credential, which never leaves the gateway; name it in tokenFile instead`
  }
  return undefined
}

/** The settings as a step. Files with judges' tokens are named and not read. */
export function foldPostprocess({ routes, tenants, ...rules }: Config, source: FoldSource): PostprocessStep {
  const name = (path: string): string => source.secret(path)
  const each = (some: Readonly<Record<string, Partial<Rules>>>): Readonly<Record<string, Partial<Rules>>> =>
    Object.fromEntries(Object.entries(some).map(([key, value]) => [key, withNamedTokens(value, name)]))
  return {
    ...withNamedTokens(rules, name),
    routes: each(routes),
    tenants: each(tenants),
    declared: [...source.declared].sort(),
  }
}
