/** Numbers from 0 (included) to 1 (not), the same for the same seed. */
export type Random = () => number

/** Mulberry32: fast, and good enough for simulations of some millions of draws. */
export function createRandom(seed: number): Random {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** How many trials it takes until the next event of chance `rate`, that trial included: one draw instead of thousands. */
export function gap(random: Random, rate: number): number {
  if (rate <= 0) return Number.POSITIVE_INFINITY
  return rate >= 1 ? 1 : 1 + Math.floor(Math.log(1 - random()) / Math.log1p(-rate))
}

/** A number from the normal distribution of mean 0 and variance 1 (Box and Muller). */
export function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}

/** How many of `trials` are events of chance `rate`. */
export function binomial(random: Random, trials: number, rate: number): number {
  let count = 0
  for (let at = gap(random, rate); at <= trials; at += gap(random, rate)) count++
  return count
}

/** The shares of `count` tenants in all calls, greatest first, by Zipf's law with this exponent. */
export function zipfShares(count: number, exponent: number): number[] {
  const weights = Array.from({ length: count }, (_, index) => (index + 1) ** -exponent)
  const sum = weights.reduce((all, each) => all + each, 0)
  return weights.map((each) => each / sum)
}

/** Draws an index by weight. */
export function createPicker(random: Random, weights: readonly number[]): () => number {
  let sum = 0
  const upTo = Float64Array.from(weights, (weight) => (sum += weight))
  return () => {
    const at = random() * sum
    let [low, high] = [0, upTo.length - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((upTo[middle] as number) > at) high = middle
      else low = middle + 1
    }
    return low
  }
}

/** How many events fall where `mean` are expected: Poisson, by the normal distribution from 60 on. */
export function poisson(random: Random, mean: number): number {
  if (mean > 60) return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal(random)))
  const end = Math.exp(-mean)
  let count = -1
  for (let product = 1; product > end; product *= random()) count++
  return count
}
