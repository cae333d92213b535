import { createSchema } from '../schema.ts'
import {
  type AnonymousConfig,
  type ApiKeyConfig,
  anonymousSchema,
  apiKeysSchema,
  type CertificateConfig,
  certificatesSchema,
  scopesSchema,
  type TrustedHopConfig,
  trustedHopSchema,
} from './config-callers.ts'
import { type JwtConfig, jwtSchema } from './config-jwt.ts'
import { type ProfileConfig, profileSchema } from './config-profile.ts'

/** The settings of the auth layer, defaults filled in. */
export interface AuthConfig {
  readonly jwt: JwtConfig | null
  readonly apiKeys: readonly ApiKeyConfig[]
  readonly trustedHop: TrustedHopConfig | null
  readonly clientCertificates: readonly CertificateConfig[]
  /** True: everybody who bears no credential is `anonymous`. */
  readonly anonymous: boolean | AnonymousConfig
  readonly credentialHeaders: readonly string[]
  readonly required_scopes: readonly string[]
  readonly jwt_payload_fields: readonly string[]
  readonly profile: ProfileConfig | null
}

/** The schema of `layers.auth`. */
export const authConfig = createSchema<AuthConfig>({
  type: 'object',
  additionalProperties: false,
  description: 'Who is calling.',
  properties: {
    jwt: jwtSchema,
    apiKeys: apiKeysSchema,
    trustedHop: trustedHopSchema,
    clientCertificates: certificatesSchema,
    anonymous: anonymousSchema,
    credentialHeaders: {
      type: 'array',
      minItems: 1,
      uniqueItems: true,
      default: ['authorization', 'x-api-key', 'api-key'],
      items: { enum: ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key'] },
      description:
        'Headers a credential is taken from. `authorization` bears tokens and API keys (scheme Bearer), the others API keys.',
    },
    required_scopes: scopesSchema('Scopes that every caller needs; without them a call is refused with 403.'),
    jwt_payload_fields: {
      type: 'array',
      default: [],
      items: { type: 'string', minLength: 1 },
      description: 'Claims of a token that layers further in may read.',
    },
    profile: profileSchema,
  },
})
