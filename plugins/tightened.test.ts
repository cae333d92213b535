import { describe, expect, it } from 'vitest'
import { type Call, createCall } from './call.ts'
import type { Directives } from './directives.ts'
import { gatewayError } from './errors.ts'
import type { Acting } from './layer.ts'
import { createTightened, type Tightened } from './tightened.ts'
import { pass, refuse } from './verdict.ts'

interface Step {
  readonly most: number
}

interface Rig {
  readonly tightened: Tightened
  /** What was compiled, closed and released, by the rule's number. */
  readonly story: string[]
}

function createRig(maxEntries?: number): Rig {
  const story: string[] = []
  const act = ({ most }: Step): Acting => {
    story.push(`made ${most}`)
    return {
      decide: () => (most > 5 ? pass() : refuse(gatewayError('rate_limited', String(most)))),
      ruleFor: () => most,
      release: () => void story.push(`released ${most}`),
      close: async () => void story.push(`closed ${most}`),
    }
  }
  const tighten = (step: Step, { rate_limit }: Directives): Step => {
    if (!rate_limit) return step
    const most = Number(rate_limit['most'])
    if (most > step.most)
      throw gatewayError('invalid_request', 'looser', { field: 'execution_context.rate_limit.most' })
    return { most }
  }
  const step = { most: 9 }
  const bounds = maxEntries === undefined ? {} : { maxEntries }
  return { story, tightened: createTightened({ base: act(step), step, tighten, act, ...bounds }) }
}

const asking = (most: number): Directives => ({ rate_limit: { most } })
const callWith = (directives?: Directives): Call => {
  const facts = directives ? { directives } : {}
  const { signal } = new AbortController()
  return createCall({ id: 'i', route: 'chat', now: 0, body: Buffer.from('{}'), headers: {}, facts, signal })
}

describe('createTightened()', () => {
  it('a call without directives is decided at once, by the rule as it is', () => {
    const { tightened } = createRig()
    expect(tightened.decide?.(callWith(), 'enforce')).toEqual(pass())
    expect(tightened.ruleFor?.(callWith())).toBe(9)
  })

  it('a call with directives is decided by the stricter rule, which its cache key shows', async () => {
    const { tightened } = createRig()
    const directives = asking(3)
    await tightened.ready(directives)
    const call = callWith(directives)
    expect(tightened.ruleFor?.(call)).toBe(3)
    expect(tightened.decide?.(call, 'enforce')).toMatchObject({ kind: 'refuse', error: { message: '3' } })
    expect(tightened.decide?.(callWith(), 'enforce')).toEqual(pass())
  })

  it('equal directives are compiled once, and those that ask nothing of this layer not at all', async () => {
    const { tightened, story } = createRig()
    await Promise.all([tightened.ready(asking(3)), tightened.ready(asking(3))])
    await tightened.ready(asking(3))
    const nothing = { cache: { ttl_seconds: 1 } }
    await tightened.ready(nothing)
    expect(story).toEqual(['made 9', 'made 3'])
    expect(tightened.decide?.(callWith(nothing), 'enforce')).toEqual(pass())
  })

  it('a call that nobody made it ready for waits instead of being let through', async () => {
    const { tightened } = createRig()
    expect(await tightened.decide?.(callWith(asking(2)), 'enforce')).toMatchObject({ kind: 'refuse' })
  })

  it('what would loosen is refused by the path of the directive, each time', async () => {
    const { tightened } = createRig()
    for (let time = 0; time < 2; time += 1)
      await expect(tightened.ready(asking(10))).rejects.toMatchObject({
        code: 'invalid_request',
        detail: { field: 'execution_context.rate_limit.most' },
      })
  })

  it('of more than are kept the oldest is closed, but never under a call', async () => {
    const { tightened, story } = createRig(1)
    const [one, two] = [asking(1), asking(2)]
    await tightened.ready(one)
    const call = callWith(one)
    tightened.decide?.(call, 'enforce')
    await tightened.ready(two)
    expect(story).toEqual(['made 9', 'made 1', 'made 2'])
    tightened.release?.(call)
    expect(story.slice(3)).toEqual(['released 1', 'closed 1'])
    expect(await tightened.decide?.(callWith(one), 'enforce')).toMatchObject({ kind: 'refuse' })
    expect(story.slice(5)).toContain('made 1')
  })

  it('closing closes the rule and everything that was made of it', async () => {
    const { tightened, story } = createRig()
    await tightened.ready(asking(4))
    await tightened.close?.()
    expect(story.slice(2).toSorted()).toEqual(['closed 4', 'closed 9'])
  })
})
