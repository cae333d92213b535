import { gatewayError } from '../../../plugins/errors.ts'

/** A beta distribution: its density goes with `x^(a−1)·(1−x)^(b−1)`, `a` and `b` above 0. */
export interface BetaShape {
  readonly a: number
  readonly b: number
}

/** A place between 0 and 1 together with what is left to 1: near an end the smaller of them could not be got from the other. */
interface Place {
  readonly x: number
  readonly y: number
}

/**
 * The chance of a beta variable below `x`: the regularised incomplete beta function `I_x(a, b)` (DLMF 8.17.2). Relative accuracy 1e-10 or
 * better, in the tails too, for shapes from 0.5 to 1e6. Throws `internal` for what is no shape or no number from 0 to 1.
 */
export function betaBelow(x: number, shape: BetaShape): number {
  checked(x, shape)
  return Math.exp(logBelow({ x, y: 1 - x }, shape))
}

/** The chance of a beta variable above `x`, as accurate where it is small. Throws as {@link betaBelow} does. */
export function betaAbove(x: number, shape: BetaShape): number {
  checked(x, shape)
  return Math.exp(logBelow({ x: 1 - x, y: x }, mirrored(shape)))
}

/**
 * Below what a beta variable lies with chance `p`: the inverse of {@link betaBelow}, as accurate as that one, and as close to an end as a
 * number can be. Throws as {@link betaBelow} does.
 */
export function betaQuantile(p: number, shape: BetaShape): number {
  checked(p, shape)
  if (p === 0 || p === 1) return p
  // In the smaller tail steps are fewest.
  return p <= 0.5 ? placeAt(logOdds(p, shape)).x : placeAt(logOdds(1 - p, mirrored(shape))).y
}

/**
 * The log-odds `t = ln(x/(1−x))` of the quantile, by Newton's method on `ln I − ln p`, from the mean. As a function of `t` the density,
 * `e^(a·t)/(1+e^t)^(a+b)`, is log-concave for every shape, so its integral is too; of a concave function that rises, a tangent's zero is
 * never right of the function's: after one step all steps go right and none passes the root. The tangent at −∞ is the bracket's other
 * end: no step goes left of its zero, which is the root where `x` is too small for a number.
 */
function logOdds(p: number, shape: BetaShape): number {
  const wanted = Math.log(p)
  let t = Math.log(shape.a) - Math.log(shape.b)
  const least = (wanted - logLead(shape)) / shape.a
  for (let steps = 0; steps < 100; steps++) {
    const place = placeAt(t)
    if (place.x === 0) break
    const below = logBelow(place, shape)
    const step = (wanted - below) * Math.exp(below - logPower(place, shape))
    t = Math.max(t + step, least)
    // What is left after a step goes with its square: far below the rounding of `t`.
    if (Math.abs(step) <= 1e-10) break
  }
  return t
}

/** `−ln(a·B(a, b))`: near 0 the chance below `x` is that much above `a·ln x`, in logarithms. */
function logLead(shape: BetaShape): number {
  const { a, b } = shape
  const mean = { x: a / (a + b), y: b / (a + b) }
  return logPower(mean, shape) + a * Math.log1p(b / a) + b * Math.log1p(a / b) - Math.log(a)
}

function placeAt(t: number): Place {
  return { x: 1 / (1 + Math.exp(-t)), y: 1 / (1 + Math.exp(t)) }
}

/** `ln I_x(a, b)`, from the side on which the fraction converges fast (DLMF 8.17.22 and 8.17.4). */
function logBelow(place: Place, shape: BetaShape): number {
  const { x, y } = place
  if (x <= (shape.a + 1) / (shape.a + shape.b + 2)) return logPower(place, shape) - Math.log(fraction(place, shape))
  const [from, to] = [{ x: y, y: x }, mirrored(shape)]
  return Math.log1p(-Math.min(1, Math.exp(logPower(from, to)) / fraction(from, to)))
}

/**
 * `ln(x^a·y^b / B(a, b))`, the density over the log-odds. Three log-gammas of large shapes would cancel but for their last digits: 1e-9 is
 * left at 1e6. So Stirling's formula (DLMF 5.11.1) is put in for each of them, its large parts are taken together with the powers, and both
 * are counted from the mean (as Loader does for the binomial, "Fast and accurate computation of binomial probabilities", 2000).
 */
function logPower({ x, y }: Place, { a, b }: BetaShape): number {
  // x·(a+b)/a = 1 + off/a and y·(a+b)/b = 1 − off/b: what is rounded in `off` goes out of the sum of both.
  const off = x * b - y * a
  const powers = a * logRatio(off / a, (x / a) * (a + b)) + b * logRatio(-off / b, (y / b) * (a + b))
  const scale = 0.5 * Math.log((a / (a + b)) * (b / (2 * Math.PI)))
  return powers + scale + stirlingRest(a + b) - stirlingRest(a) - stirlingRest(b)
}

/** `ln ratio`, by what the ratio is above 1 wherever that has more digits. */
function logRatio(above: number, ratio: number): number {
  return above > -0.5 ? Math.log1p(above) : Math.log(ratio)
}

/** What Stirling's formula leaves out: `ln Γ(z) − (z−½)·ln z + z − ½·ln 2π`. */
function stirlingRest(from: number): number {
  let [z, rest] = [from, 0]
  // Up to where five terms of the series leave 2e-14, by Γ(z+1) = z·Γ(z).
  for (; z < 10; z++) rest += (z + 0.5) * Math.log1p(1 / z) - 1
  const w = 1 / (z * z)
  return rest + (1 / 12 - w * (1 / 360 - w * (1 / 1260 - w * (1 / 1680 - w / 1188)))) / z
}

/**
 * `x^a·y^b / (B(a, b)·I_x(a, b))`: the continued fraction of DLMF 8.17.22, of which every second convergent is left out (its even part),
 * multiplied by `a` and written with `y` where `1 − x` would lose digits (as Didonato and Morris do, ACM TOMS 708, 1992). By Lentz's
 * method as Thompson and Barnett changed it (Press et al., "Numerical Recipes", 3rd ed., §5.2). Takes some `√max(a, b)` terms where `x`
 * is near the mean, few elsewhere.
 */
function fraction({ x, y }: Place, { a, b }: BetaShape): number {
  const room = a * y - b * x + 1
  let value = (a * room) / (a + 1)
  let [over, under] = [value, 0]
  for (let m = 1; m < 1e6; m++) {
    const odd = a + 2 * m - 1
    const next = (m * (b - m) * x) / odd
    const numerator = next * ((a + m - 1) / odd) * (a + b + m - 1) * x
    const term = m + next + (a + m) * ((room + m * (1 + y)) / (odd + 2))
    under = 1 / away(term + numerator * under)
    over = away(term + numerator / over)
    value *= over * under
    if (Math.abs(over * under - 1) <= 2 ** -52) break
  }
  return value
}

/** Keeps a divisor from being 0. */
function away(divisor: number): number {
  return Math.abs(divisor) < 1e-300 ? 1e-300 : divisor
}

function mirrored({ a, b }: BetaShape): BetaShape {
  return { a: b, b: a }
}

function checked(share: number, { a, b }: BetaShape): void {
  if (!(share >= 0 && share <= 1)) throw gatewayError('internal', `${share} is not between 0 and 1`)
  if (!(a > 0 && b > 0 && Number.isFinite(a + b))) throw gatewayError('internal', `${a} and ${b} shape no distribution`)
}
