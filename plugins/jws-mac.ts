import { createHmac, createSecretKey, hash, timingSafeEqual } from 'node:crypto'

/** HMAC-SHA-256 (RFC 2104) of texts' UTF-8 bytes, under one secret. */
export interface Mac {
  of(input: string, encoding: 'base64' | 'base64url'): string
  /** Whether a signature is that of a text; compares in constant time. */
  is(signature: Buffer, input: string): boolean
}

const blockBytes = 64
const macBytes = 32
// Whatever is signed for one call is shorter; policies are not.
const mostBytes = 16 * 1024

/**
 * Makes a {@link Mac}: two plain digests over padded keys that are made once. An object of `createHmac` for every call costs half as much again,
 * most of it for being set up and collected.
 */
export function createMac(secret: Uint8Array): Mac {
  const key = secret.length > blockBytes ? hash('sha256', secret, 'buffer') : secret
  const whole = createSecretKey(secret)
  const inner = Buffer.alloc(blockBytes + mostBytes)
  const outer = Buffer.alloc(blockBytes + macBytes)
  const right = Buffer.alloc(macBytes)
  for (let i = 0; i < blockBytes; i++) {
    inner[i] = (key[i] ?? 0) ^ 0x36
    outer[i] = (key[i] ?? 0) ^ 0x5c
  }
  const of = (input: string, encoding: 'base64' | 'base64url' | 'binary'): string => {
    // A character is at most three bytes of UTF-8.
    if (input.length * 3 > mostBytes) return createHmac('sha256', whole).update(input).digest(encoding)
    const end = blockBytes + inner.write(input, blockBytes, 'utf8')
    // Bytes go from one to the other as characters (`binary`, that is Latin-1): a buffer for them would cost as much as the digest.
    outer.write(hash('sha256', inner.subarray(0, end), 'binary'), blockBytes, 'latin1')
    return hash('sha256', outer, encoding)
  }
  return {
    of,
    is(signature, input) {
      if (signature.length !== macBytes) return false
      right.write(of(input, 'binary'), 'latin1')
      return timingSafeEqual(signature, right)
    },
  }
}
