/** Milliseconds as people say them, such as `0.42 ms`, `38 ms`, `1.3 s`, `4 min`, `2 h`. */
export function ms(value: number): string {
  if (value < 1) return `${Number(value.toPrecision(2))} ms`
  if (value < 10) return `${Number(value.toPrecision(2))} ms`
  if (value < 1_000) return `${Math.round(value)} ms`
  if (value < 60_000) return `${Number((value / 1_000).toPrecision(2))} s`
  if (value < 3_600_000) return `${Math.round(value / 60_000)} min`
  if (value < 172_800_000) return `${Number((value / 3_600_000).toPrecision(2))} h`
  return `${Math.round(value / 86_400_000)} days`
}

/** A share, 0 to 1, as people say it: `4.2 %`, `0.03 %`, `0 %`. */
export function percent(share: number): string {
  return `${Number((share * 100).toPrecision(2))} %`
}

/** So many of something, with an `s` where it is not one. */
export function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}

/** Four digits that count; words for the ends of what a number can be. */
export function figure(value: number): string {
  if (Math.abs(value) === Number.MAX_VALUE) return value > 0 ? 'without end' : 'none'
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(4)))
}
