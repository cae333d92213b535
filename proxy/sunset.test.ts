import { describe, expect, it } from 'vitest'
import { sunsetAt, sunsetHeaders } from './sunset.ts'

const period = { since: '2026-01-01', days: 90 }
const start = Date.parse('2026-01-01T00:00:00Z')
const day = 86_400_000

describe('a sunset of 90 days', () => {
  it.each([
    [-1 / day, 'current'],
    [0, 'normal'],
    [30.9, 'normal'],
    [31, 'warned'],
    [60.9, 'warned'],
    [61, 'last'],
    [89.9, 'last'],
    [90, 'gone'],
    [4_000, 'gone'],
  ])('is on day %d in the tier %s', (days, tier) => {
    expect(sunsetAt(period, start + days * day).tier).toBe(tier)
  })

  it('says how many days are left, begun ones too', () => {
    expect(sunsetAt(period, start).daysLeft).toBe(90)
    expect(sunsetAt(period, start + 89.5 * day).daysLeft).toBe(1)
    expect(sunsetAt(period, start + 91 * day).daysLeft).toBe(0)
  })

  it('tells its first instant as RFC 9745 and its last as RFC 8594 want them', () => {
    expect(sunsetHeaders(sunsetAt(period, start))).toEqual({
      deprecation: '@1767225600',
      sunset: 'Wed, 01 Apr 2026 00:00:00 GMT',
    })
  })
})

it('without a day nothing is announced, nor by a day that is none', () => {
  for (const since of [null, '2026-13-45']) {
    const sunset = sunsetAt({ since, days: 90 }, start)
    expect([sunset.tier, sunsetHeaders(sunset)]).toEqual(['current', {}])
  }
})

it('a period of one day ends after it', () => {
  expect(sunsetAt({ since: '2026-01-01', days: 1 }, start + day - 1).tier).toBe('normal')
  expect(sunsetAt({ since: '2026-01-01', days: 1 }, start + day).tier).toBe('gone')
})
