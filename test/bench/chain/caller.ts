import { type JwksServer, startJwks } from '../../support/jwks-server.ts'
import { createKey, signToken } from '../../support/jwt.ts'
import type { Redis } from '../../support/redis.ts'

/** Somebody who may use the chain: a token, and the key set that it is verified with. */
export interface ChainCaller extends AsyncDisposable {
  readonly token: string
  readonly keySet: JwksServer
  readonly issuer: string
  readonly audience: string
}

/** Makes a caller of the tenant `bench`, whose scopes and profile lie in Redis, and serves the key set. */
export async function createChainCaller(redis: Redis): Promise<ChainCaller> {
  const key = await createKey('RS256')
  const keySet = await startJwks(key)
  const now = Math.floor(Date.now() / 1000)
  const [issuer, audience] = [keySet.issuer, 'chain']
  const claims = { iss: issuer, aud: audience, sub: 'bench', iat: now, exp: now + 86_400 }
  await redis.cli('SADD', 'scopes:bench', 'inference', 'read')
  await redis.cli('HSET', 'profile:bench', 'tenant', 'bench', 'tier', 'vip', 'plan', 'gold', 'scopes', 'inference')
  const token = await signToken(key, claims)
  return { token, keySet, issuer, audience, [Symbol.asyncDispose]: () => keySet[Symbol.asyncDispose]() }
}
