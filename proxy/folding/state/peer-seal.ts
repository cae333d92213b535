import { randomUUID } from 'node:crypto'
import { signJws, verifyJws } from '../../../plugins/jws.ts'
import { type JsonObject, jsonObjectFromBytes } from '../../../plugins/jws-json.ts'
import type { KeyRing, SigningKey } from '../../../plugins/jws-key.ts'
import { createReplaySet } from '../../../plugins/replay-set.ts'
import type { Replica } from './replica.ts'

/** What replicas prove themselves to each other with. */
export interface PeerKeys {
  /** Signs what this replica says. */
  readonly key: SigningKey
  /** Every key that is valid now, so that keys can rotate. */
  readonly ring: KeyRing
  /** Which gateways belong together; those of another name are refused. Default `foldgate`. */
  readonly audience?: string
}

/** A message or an answer as it was received: genuine, recent, and not heard before. */
export interface Opened {
  readonly from: Replica
  /** Of this message. */
  readonly jti: string
  /** Of the message that this answers; undefined for a message. */
  readonly re: string | undefined
  readonly payload: JsonObject
}

/** What something that was received turned out to be, or why it is refused, in words. */
export type Opening = { readonly ok: true; readonly opened: Opened } | { readonly ok: false; readonly why: string }

/** Signs what one replica says, and checks what others say. */
export interface PeerSeal {
  /** The content as a token, and its id. `re` makes it the answer to a message. */
  seal(content: object, re?: string): { readonly token: string; readonly jti: string }
  /** Opens a message, once. */
  message(token: string): Opening
  /** Opens the answer to a message. */
  answer(token: string, re: string): Opening
}

// A type of its own, so that no context or policy is ever taken for it (RFC 8725 §3.11).
const type = 'foldgate-peer+jws'
const livesS = 30
/** How far the clocks of two replicas may be apart, in seconds: a trip has to get through all the same. */
const skewS = 300

/** Makes a {@link PeerSeal}. `now` is milliseconds since the epoch. */
export function createPeerSeal(
  { key, ring, audience = 'foldgate' }: PeerKeys,
  self: Replica,
  now: () => number,
): PeerSeal {
  const heard = createReplaySet(65_536)
  const audienceOf = (re: string | undefined): string => `${audience}/peers${re === undefined ? '' : '/answer'}`
  const open = (token: string, re?: string): Opening => {
    const verified = verifyJws(token, type, ring)
    if (!verified.ok) return refused(`not signed by a replica: ${verified.detail}`)
    const payload = jsonObjectFromBytes(verified.payload)
    const claims = payload && claimsFrom(payload)
    if (!payload || !claims) return refused('it does not say who it is from, and when')
    if (payload['aud'] !== audienceOf(re) || claims.re !== re) return refused('it is meant for somebody else')
    const seconds = now() / 1_000
    if (claims.exp < seconds - skewS || claims.iat > seconds + skewS || claims.exp - claims.iat > livesS) {
      return refused('it is too old or from the future; compare the clocks')
    }
    if (heard.record(claims.jti, (claims.exp + skewS) * 1_000, now()) !== 'fresh') return refused('it was heard before')
    return { ok: true, opened: { from: claims.from, jti: claims.jti, re: claims.re, payload } }
  }
  return {
    seal(content, re) {
      const [jti, iat] = [randomUUID(), Math.floor(now() / 1_000)]
      const { id: iss, boot } = self
      const claims = {
        iss,
        boot,
        aud: audienceOf(re),
        iat,
        exp: iat + livesS,
        jti,
        ...(re === undefined ? {} : { re }),
      }
      return { token: signJws(JSON.stringify({ ...content, ...claims }), key, type), jti }
    },
    message: (token) => open(token),
    answer: (token, re) => open(token, re),
  }
}

function refused(why: string): Opening {
  return { ok: false, why }
}

function claimsFrom(payload: JsonObject) {
  const { iss, boot, iat, exp, jti, re } = payload
  if (typeof iss !== 'string' || typeof boot !== 'string' || typeof jti !== 'string') return undefined
  if (typeof iat !== 'number' || typeof exp !== 'number') return undefined
  return { from: { id: iss, boot }, iat, exp, jti, re: typeof re === 'string' ? re : undefined }
}
