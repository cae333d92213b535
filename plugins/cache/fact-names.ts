import { compilePath, type Path } from '../path.ts'
import type { HashField } from './config.ts'
import type { CacheStep } from './step.ts'

/** Facts that travel to a runner whatever a rule names. */
const travelling: ReadonlySet<string> = new Set(['client_ip', 'id', 'tenant', 'tier', 'scopes', 'method'])
/** Facts that only the server of the gateway knows. */
const gatewayOnly: ReadonlySet<string> = new Set(['peer', 'peerCertificate'])

/** The path of a hash field. */
export function pathOf(field: HashField): string {
  return typeof field === 'string' ? field : field.path
}

/** The claim that a path names; undefined for the body, for facts that always travel, and for a path that is none. */
export function claimOf(text: string, declared: ReadonlySet<string>): string | undefined {
  const path = compiled(text, declared)
  if (path?.source !== 'facts') return undefined
  const [first, second] = path.steps
  const name = first === 'claims' ? second : first
  return name === undefined || travelling.has(String(name)) ? undefined : String(name)
}

/** Claims that the fields of the key name, sorted. */
export function claimsOf({ input_hash_fields, declared }: Pick<CacheStep, 'input_hash_fields' | 'declared'>): string[] {
  const names = new Set(declared)
  const named = (input_hash_fields ?? []).flatMap((field) => claimOf(pathOf(field), names) ?? [])
  return [...new Set(named)].sort()
}

/** Why a field can only be read in the gateway, in words; undefined when a runner can know it too. */
export function keptBy(text: string): string | undefined {
  const path = compiled(text, new Set())
  if (path?.source !== 'facts') return undefined
  const [first, second] = path.steps
  if (first === 'claims' && second === undefined) return `the field "${text}" is all claims; only single ones travel`
  return gatewayOnly.has(String(first)) ? `the field "${text}" is known in the gateway only` : undefined
}

function compiled(text: string, declared: ReadonlySet<string>): Path | undefined {
  try {
    return compilePath(text, declared)
  } catch {
    return undefined
  }
}
