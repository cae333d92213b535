import type { JsonSchema } from '../plugins/schema.ts'
import { entry, host, list, oneOf, optionalText, port, section, text } from './field.ts'

/** What somebody may do at the admin port: look, or change things too. */
export type AdminRole = 'viewer' | 'operator'

/** Somebody who may use the admin port. Exactly one of `hash` and `hashFile` is given. */
export interface AdminTokenConfig {
  /** Who it is; recorded with every change. */
  readonly name: string
  readonly role: AdminRole
  /** SHA-256 of the token, in hex. */
  readonly hash: string | null
  /** File that holds the hash. */
  readonly hashFile: string | null
}

/** The admin port: probes, metrics, and what people on call need. */
export interface AdminConfig {
  readonly host: string
  readonly port: number
  readonly tokens: readonly AdminTokenConfig[]
  /** Host names, beside loopback and the listener's own address, by which the admin port may be asked. */
  readonly allowedHosts: readonly string[]
}

const token: JsonSchema = entry(
  {
    name: text('Who it is; recorded with every change.', '^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$'),
    role: oneOf('viewer may look; operator may change things too.', ['viewer', 'operator']),
    hash: {
      type: ['string', 'null'],
      description: 'SHA-256 of the token, in hex.',
      default: null,
      pattern: '^[0-9A-Fa-f]{64}$',
      writeOnly: true,
    },
    hashFile: optionalText('File that holds the hash.'),
  },
  ['name', 'role'],
)

/** The `admin` section. */
export const adminSchema: JsonSchema = section('The admin port: probes, metrics, and what people on call need.', {
  host: host('Address to listen on. On loopback no token is asked for.'),
  port: port('TCP port of the admin listener; 0: whichever is free.', 9901),
  tokens: list(
    'Who may use the admin port. Needed for everything but probes and metrics unless it is on loopback.',
    token,
  ),
  allowedHosts: list("Host names, beside loopback and the listener's own address, by which it may be asked.", {
    type: 'string',
    pattern: '^[A-Za-z0-9._-]+(:[0-9]{1,5})?$|^\\[[0-9A-Fa-f:.]+\\](:[0-9]{1,5})?$',
  }),
})
