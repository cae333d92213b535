/** The four 64-bit words of the state, each as two 32-bit halves. */
type Words = [number, number, number, number]
type Word = 0 | 1 | 2 | 3

interface State {
  readonly low: Words
  readonly high: Words
}

/**
 * SipHash-2-4 (Aumasson and Bernstein, 2012): 64 bits over `input` under a secret, as 16 hex digits in the order of the bytes. Only
 * the first 16 bytes of `key` are used; a shorter one throws `RangeError`.
 */
export function siphash(key: Buffer, input: Buffer): string {
  const state = initialState(key)
  const whole = input.length - (input.length % 8)
  for (let at = 0; at < whole; at += 8) absorb(state, input.readUInt32LE(at), input.readUInt32LE(at + 4))
  const last = Buffer.alloc(8)
  input.copy(last, 0, whole)
  last[7] = input.length & 0xff
  absorb(state, last.readUInt32LE(0), last.readUInt32LE(4))
  state.low[2] ^= 0xff
  for (let i = 0; i < 4; i++) round(state)
  const { low, high } = state
  last.writeUInt32LE((low[0] ^ low[1] ^ low[2] ^ low[3]) >>> 0, 0)
  last.writeUInt32LE((high[0] ^ high[1] ^ high[2] ^ high[3]) >>> 0, 4)
  return last.toString('hex')
}

/** "somepseudorandomlygeneratedbytes", as the paper has it, under the key. */
function initialState(key: Buffer): State {
  const k0 = key.readUInt32LE(0)
  const k1 = key.readUInt32LE(4)
  const k2 = key.readUInt32LE(8)
  const k3 = key.readUInt32LE(12)
  return {
    low: [0x70736575 ^ k0, 0x6e646f6d ^ k2, 0x6e657261 ^ k0, 0x79746573 ^ k2],
    high: [0x736f6d65 ^ k1, 0x646f7261 ^ k3, 0x6c796765 ^ k1, 0x74656462 ^ k3],
  }
}

function absorb(state: State, low: number, high: number): void {
  state.low[3] ^= low
  state.high[3] ^= high
  round(state)
  round(state)
  state.low[0] ^= low
  state.high[0] ^= high
}

function round(state: State): void {
  mix(state, 0, 1, 13)
  swapHalves(state, 0)
  mix(state, 2, 3, 16)
  mix(state, 0, 3, 21)
  mix(state, 2, 1, 17)
  swapHalves(state, 2)
}

/** a += b; b = (b <<< by) ^ a, where `by` is under 32. */
function mix({ low, high }: State, a: Word, b: Word, by: number): void {
  const sum = (low[a] >>> 0) + (low[b] >>> 0)
  high[a] = (high[a] + high[b] + (sum > 0xffffffff ? 1 : 0)) | 0
  low[a] = sum | 0
  const turned = (low[b] << by) | (high[b] >>> (32 - by))
  high[b] = ((high[b] << by) | (low[b] >>> (32 - by))) ^ high[a]
  low[b] = turned ^ low[a]
}

/** A turn by 32 bits. */
function swapHalves({ low, high }: State, a: Word): void {
  const half = low[a]
  low[a] = high[a]
  high[a] = half
}
