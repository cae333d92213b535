/**
 * A HyperLogLog of 2,048 registers: how many different things were seen, in 2 KiB, whatever their number. Standard error 2.3 %; a few dozen
 * are off by one at most. Merging takes the higher of each register, so order and repetition do no harm.
 */
export interface DistinctSketch {
  /** `hash`: at least 16 hex digits of a digest. */
  add(hash: string): void
  merge(other: DistinctSketch): void
  /** About how many different ones, rounded. */
  count(): number
  /** Base64, for {@link sketchFromText}. */
  text(): string
  readonly registers: Uint8Array
}

const bits = 11
const size = 2 ** bits
/** Corrects what the harmonic mean of so many registers is off by. */
const alpha = 0.7213 / (1 + 1.079 / size)

/** Makes an empty {@link DistinctSketch}. */
export function createDistinctSketch(registers: Uint8Array = new Uint8Array(size)): DistinctSketch {
  return {
    registers,
    add(hash) {
      const index = Number.parseInt(hash.slice(0, 8), 16) >>> (32 - bits)
      const rank = Math.clz32(Number.parseInt(hash.slice(8, 16), 16)) + 1
      if (rank > registers[index]!) registers[index] = rank
    },
    merge({ registers: others }) {
      for (let at = 0; at < size; at++) registers[at] = Math.max(registers[at]!, others[at] ?? 0)
    },
    count: () => Math.round(estimate(registers)),
    text: () => Buffer.from(registers).toString('base64'),
  }
}

/** The sketch of a text. What is no sketch is an empty one. */
export function sketchFromText(text: string): DistinctSketch {
  const bytes = Buffer.from(text, 'base64')
  return createDistinctSketch(bytes.length === size ? new Uint8Array(bytes) : undefined)
}

/** Flajolet and others, 2007; few are better told from the registers that are still empty. */
function estimate(registers: Uint8Array): number {
  let [sum, empty] = [0, 0]
  for (const rank of registers) {
    sum += 2 ** -rank
    if (rank === 0) empty++
  }
  const raw = (alpha * size * size) / sum
  return raw <= 2.5 * size && empty > 0 ? size * Math.log(size / empty) : raw
}
