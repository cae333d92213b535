import { describe, expect, it } from 'vitest'
import { type Call, createCall } from './call.ts'
import { gatewayError } from './errors.ts'
import type { Acting } from './layer.ts'
import { type Reply, replyFromCompletion } from './reply.ts'
import { type Seated, through } from './stack.ts'
import { answer, pass, refuse, type Verdict } from './verdict.ts'

const completion = { choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }] }
const reply = (): Reply => replyFromCompletion({ status: 200, streamed: false, source: 'runner' }, completion)

const callWith = (signal: AbortSignal = new AbortController().signal): Call =>
  createCall({ id: 'i', route: 'chat', now: 0, body: Buffer.from('{}'), headers: {}, facts: {}, signal })

/** A layer that writes down what happens to it. */
function noting(name: string, story: string[], acting: Acting = {}): Seated {
  return {
    name,
    mode: 'enforce',
    acting: {
      decide(call, mode) {
        story.push(`${name} decides`)
        return acting.decide?.(call, mode) ?? pass()
      },
      settle(call, back, turn) {
        story.push(`${name} settles`)
        return acting.settle?.(call, back, turn) ?? back
      },
      release: () => void story.push(`${name} releases`),
    },
  }
}

const silent = { heard: () => undefined }
const run = (seats: Seated[], call = callWith(), inside = async () => reply()): Promise<Reply> =>
  through(seats, call, { inside, witness: silent })

const drain = async (back: Reply): Promise<string> => {
  let text = ''
  for await (const part of back.bytes()) text += part.toString()
  return text
}

describe('through()', () => {
  it('asks outside in, settles inside out, and releases when the reply has been read', async () => {
    const story: string[] = []
    const back = await run([noting('a', story), noting('b', story)])
    expect(story).toEqual(['a decides', 'b decides', 'b settles', 'a settles'])
    await drain(back)
    expect(story.slice(4)).toEqual(['b releases', 'a releases'])
  })

  it('stops at a refusal and releases those that were asked', async () => {
    const story: string[] = []
    const no = noting('b', story, { decide: () => refuse(gatewayError('forbidden', 'no')) })
    await expect(run([noting('a', story), no, noting('c', story)])).rejects.toThrow('no')
    expect(story).toEqual(['a decides', 'b decides', 'b releases', 'a releases'])
  })

  it('asks nobody further in when a layer answers', async () => {
    const story: string[] = []
    const hit = noting('b', story, { decide: () => answer(reply()) })
    await drain(await run([noting('a', story), hit, noting('c', story)]))
    expect(story).toEqual(['a decides', 'b decides', 'a settles', 'b releases', 'a releases'])
  })

  it('releases once when the runner fails', async () => {
    const story: string[] = []
    const failing = async (): Promise<Reply> => Promise.reject(gatewayError('runner_error', 'broken'))
    await expect(run([noting('a', story)], callWith(), failing)).rejects.toThrow('broken')
    expect(story).toEqual(['a decides', 'a releases'])
  })

  it('releases once when the caller leaves before the reply is read', async () => {
    const story: string[] = []
    const caller = new AbortController()
    const back = await run([noting('a', story)], callWith(caller.signal))
    caller.abort()
    expect(story.filter((line) => line === 'a releases')).toHaveLength(1)
    await drain(back)
    expect(story.filter((line) => line === 'a releases')).toHaveLength(1)
  })

  it('turns whatever a layer throws into an error of the closed table', async () => {
    const broken = noting('a', [], {
      decide: () => {
        throw new TypeError('secret detail')
      },
    })
    await expect(run([broken])).rejects.toMatchObject({ code: 'internal', message: 'internal error' })
  })

  it('lets an observer decide nothing', async () => {
    const story: string[] = []
    const observer = {
      ...noting('a', story, { decide: () => refuse(gatewayError('forbidden', 'no')) }),
      mode: 'observe' as const,
    }
    expect(await drain(await run([observer]))).toContain('hi')
  })

  it('gives facts and a rewritten request to those further in only', async () => {
    const seen: unknown[] = []
    const seeing = (name: string, verdict: Verdict): Seated => ({
      name,
      mode: 'enforce',
      acting: {
        decide(call) {
          seen.push([name, call.facts.client_ip, call.untouched])
          return verdict
        },
      },
    })
    await run([seeing('a', pass({ client_ip: '1' }, { model: 'x' })), seeing('b', pass())])
    expect(seen).toEqual([
      ['a', undefined, true],
      ['b', '1', false],
    ])
  })

  it('runs what is inside once more for a layer that asks again, and releases each turn once', async () => {
    const story: string[] = []
    const retrying = noting('a', story, { settle: (call, back, { again }) => drain(back).then(() => again(call)) })
    await drain(await run([retrying, noting('b', story)]))
    expect(story.filter((line) => line === 'b decides')).toHaveLength(2)
    expect(story.filter((line) => line === 'b releases')).toHaveLength(2)
    expect(story.filter((line) => line === 'a releases')).toHaveLength(1)
  })
})

describe('an observer', () => {
  it('decides and settles beside the call, and changes nothing of it', async () => {
    const story: string[] = []
    const watching: Seated = {
      ...noting('a', story, {
        decide: () => refuse(gatewayError('forbidden', 'no')),
        settle: (_, back) =>
          back.through({ push: () => undefined }).observe({ end: ({ kind }) => void story.push(`a saw it ${kind}`) }),
      }),
      mode: 'observe',
    }
    const back = await run([watching, noting('b', story)])
    expect(await drain(back)).toContain('"hi"')
    await new Promise(setImmediate)
    expect(story).toEqual([
      'a decides',
      'b decides',
      'b settles',
      'a settles',
      'b releases',
      'a releases',
      'a saw it complete',
    ])
  })

  it('that wants the whole answer gets it, and cannot ask again', async () => {
    const heard: string[] = []
    const settle: Acting['settle'] = async (call, back, { again }) => {
      const { completion: whole } = await back.collect()
      heard.push(String(whole.choices?.[0]?.message?.content))
      await again(call).catch(() => heard.push('refused'))
      throw gatewayError('output_invalid', 'not good enough')
    }
    const back = await run([{ ...noting('a', [], { settle }), mode: 'observe' }])
    expect(await drain(back)).toContain('"hi"')
    await new Promise(setImmediate)
    expect(heard).toEqual(['hi', 'refused'])
  })

  it('that vetoes is never overruled', async () => {
    const no = noting('a', [], { decide: () => refuse(gatewayError('unauthenticated', 'nobody')) })
    await expect(run([{ ...no, mode: 'observe', vetoes: true }])).rejects.toThrow('nobody')
  })

  it('is given what the deciding side read', async () => {
    let given: unknown
    const acting: Acting = {
      decide(_call, _mode, reads) {
        given = reads
        return pass()
      },
    }
    const seats: Seated[] = [{ name: 'a', mode: 'observe', acting }]
    await through(seats, callWith(), { inside: async () => reply(), witness: silent, reads: { a: { level: 3 } } })
    expect(given).toEqual({ level: 3 })
  })
})

describe('a layer that is drawn', () => {
  const principal = { id: 'u', tenant: 't', tier: '', scopes: [], claims: {}, method: 'anonymous' } as const

  it('is not waited for too long, and gives back what it took once it has spoken', async () => {
    const story: string[] = []
    const speaks = Promise.withResolvers<Verdict>()
    const slow: Seated = { ...noting('a', story, { decide: () => speaks.promise }), mode: 'observe' }
    const heard: Verdict[] = []
    const witness = { heard: (_: Seated, verdict: Verdict) => void heard.push(verdict) }
    const back = await through([slow], callWith(), { inside: async () => reply(), witness, patienceMs: 1 })
    expect(await drain(back)).toContain('hi')
    expect(heard).toMatchObject([{ kind: 'refuse', error: { code: 'runner_timeout' } }])
    expect(story).not.toContain('a releases')
    speaks.resolve(pass())
    await speaks.promise
    await Promise.resolve()
    expect(story).toContain('a releases')
    const deciding = run([noting('b', story, { decide: () => Promise.resolve(pass()) })])
    expect(await drain(await deciding)).toContain('hi')
  })

  it('is drawn by what layers before it have learned, observers too', async () => {
    const story: string[] = []
    const auth: Seated = { ...noting('auth', story, { decide: () => pass({ principal }) }), mode: 'observe' }
    const drawn: Seated = {
      ...noting('b', story),
      draw: ({ facts }) => (facts.principal?.tenant === 't' ? 'away' : 'enforce'),
    }
    let inside: Call | undefined
    const back = await run([auth, drawn], callWith(), async () => reply())
    await drain(back)
    expect(story).toEqual(['auth decides', 'auth settles', 'auth releases'])
    await through([auth, noting('c', [])], callWith(), {
      inside: async (call) => {
        inside = call
        return reply()
      },
      witness: silent,
    })
    expect(inside?.facts.principal).toBeUndefined()
  })

  it('may have to speak before it can be drawn', async () => {
    const no = noting('a', [], { decide: () => refuse(gatewayError('forbidden', 'no')) })
    const draw = (place: 'enforce' | 'observe') => () => {
      let asked = 0
      return () => (asked++ === 0 ? undefined : place)
    }
    await expect(run([{ ...no, draw: draw('enforce')() }])).rejects.toThrow('no')
    await drain(await run([{ ...no, draw: draw('observe')() }]))
  })
})

describe('a layer that is away', () => {
  const failing = (times: number) => async (): Promise<Reply> => {
    if (times-- > 0) throw gatewayError('runner_error', 'could not')
    return reply()
  }

  it('is not asked', async () => {
    const story: string[] = []
    await drain(await run([{ ...noting('a', story), mode: 'away' }]))
    expect(story).toEqual([])
  })

  it('is taken back when what is inside fails, and those further in are asked anew; those further out are not', async () => {
    const story: string[] = []
    const seats = [noting('a', story), { ...noting('b', story), mode: 'away' } as const, noting('c', story)]
    const back = await through(seats, callWith(), {
      inside: failing(1),
      witness: silent,
      retake: (_, inward) => inward.map((seat) => ({ ...seat, mode: 'enforce' })),
    })
    await drain(back)
    expect(story).toEqual([
      'a decides',
      'c decides',
      'c releases',
      'b decides',
      'c decides',
      'c settles',
      'b settles',
      'a settles',
      'c releases',
      'b releases',
      'a releases',
    ])
  })

  it('stays away when nobody takes it back, and the failure stands', async () => {
    const seats: Seated[] = [{ ...noting('b', []), mode: 'away' }]
    const turn = { inside: failing(1), witness: silent, retake: () => undefined }
    await expect(through(seats, callWith(), turn)).rejects.toThrow('could not')
  })
})
