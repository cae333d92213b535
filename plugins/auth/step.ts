import { createSchema, type JsonSchema } from '../schema.ts'
import type { JwsAlgorithm } from './algorithms.ts'
import { type AuthConfig, authConfig } from './config.ts'
import type { JwtConfig } from './config-jwt.ts'

/** A verification key in a step. Exactly one of `jwk` and `secretFile` is set. */
export interface StepKey {
  readonly kid: string | null
  readonly alg: JwsAlgorithm
  /** The public key (RFC 7517), whatever form the configuration has it in. */
  readonly jwk: Readonly<Record<string, unknown>> | null
  /** The bare name of the file with the shared secret. */
  readonly secretFile: string | null
}

/** The configuration made portable: public keys read in, secret files by their bare names. */
export interface AuthStep extends Omit<AuthConfig, 'jwt'> {
  readonly jwt: (Omit<JwtConfig, 'keys'> & { readonly keys: readonly StepKey[] }) | null
}

/** The configuration that a step says, its files being those of its reader. */
export function configFromStep({ jwt, ...rest }: AuthStep): AuthConfig {
  return { ...rest, jwt: jwt && { ...jwt, keys: jwt.keys.map((key) => ({ ...key, pem: null, file: null })) } }
}

const member: JsonSchema = { type: 'string', maxLength: 2_048 }
const replaced: Readonly<Record<string, JsonSchema>> = {
  jwk: {
    type: ['object', 'null'],
    description: 'The public key as a JWK (RFC 7517).',
    additionalProperties: false,
    required: ['kty'],
    properties: { kty: member, crv: member, x: member, y: member, n: member, e: member },
  },
}
const secretName: JsonSchema = {
  type: ['string', 'null'],
  pattern: '^(?!\\.{1,2}$)[^/\\\\]{1,255}$',
  description: 'The bare name of a secret file.',
}
// Read in when the step is made.
const readIn: ReadonlySet<string> = new Set(['pem', 'file'])

/** The schema of a step: that of the configuration, with every member there, since nothing fills in a default later. */
export const authStep = createSchema<AuthStep>(written(authConfig.json))

function written(schema: JsonSchema): JsonSchema {
  const { default: _, properties, items, ...rest } = schema
  if (!properties) return items ? { ...rest, items: written(items) } : rest
  const members = Object.entries(properties as Record<string, JsonSchema>)
    .filter(([name]) => !readIn.has(name))
    .map(([name, each]) => [name, replaced[name] ?? (name.endsWith('File') ? secretName : written(each))])
  return { ...rest, required: members.map(([name]) => name), properties: Object.fromEntries(members) }
}
