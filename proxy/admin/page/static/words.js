/**
 * Milliseconds as people say them: `0.42 ms`, `38 ms`, `1.3 s`, `4 min`.
 * @param {number} value
 */
export function ms(value) {
  const [number, unit] = msParts(value)
  return `${number} ${unit}`
}

/**
 * The same in two parts, number and unit.
 * @param {number} value
 * @returns {[string, string]}
 */
export function msParts(value) {
  if (value < 10) return [String(Number(value.toPrecision(2))), 'ms']
  if (value < 1_000) return [String(Math.round(value)), 'ms']
  if (value < 60_000) return [String(Number((value / 1_000).toPrecision(2))), 's']
  return [String(Math.round(value / 60_000)), 'min']
}

/**
 * How long something is ago, such as `now`, `12 s`, `4 min`, `3 h`, `2 days`.
 * @param {number} at
 * @param {number} now
 */
export function age(at, now) {
  const seconds = Math.max(0, Math.round((now - at) / 1_000))
  if (seconds < 90) return `${seconds} s`
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`
  return `${Math.round(seconds / 86_400)} days`
}

/**
 * An instant as a `<time>` says it on hovering: local date and time.
 * @param {number} at
 */
export const instant = (at) => new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

/**
 * A share, 0 to 1, without its sign: `4.2`, `0.03`, `0`.
 * @param {number} share
 */
export const percentNumber = (share) => String(Number((share * 100).toPrecision(2)))

/**
 * A number with thin spaces between thousands.
 * @param {number} value
 */
export const number = (value) => String(value).replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f')

/**
 * A word for the shell: as it is where that is safe, else in single quotes.
 * @param {string} text
 */
export const quoted = (text) => (/^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)
