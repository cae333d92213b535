import { randomBytes } from 'node:crypto'

/** One run of a replica. */
export interface Replica {
  /** Stays the same over restarts, such as a host name; ordered as text. */
  readonly id: string
  /** Of this run: a ULID. */
  readonly boot: string
}

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** A ULID: 48 bits of milliseconds since the epoch and 80 of chance, in Crockford's base 32. Later ones sort after earlier ones. */
export function createUlid(nowMs: number, chance: Uint8Array = randomBytes(10)): string {
  let value = BigInt(Math.floor(nowMs))
  for (const byte of chance.subarray(0, 10)) value = (value << 8n) | BigInt(byte)
  let text = ''
  for (let digit = 0; digit < 26; digit++) {
    text = alphabet[Number(value & 31n)] + text
    value >>= 5n
  }
  return text
}

/** Makes a {@link Replica} that runs from now on. */
export function createReplica(id: string, nowMs: number): Replica {
  return { id, boot: createUlid(nowMs) }
}
