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
      settle(call, back, again) {
        story.push(`${name} settles`)
        return acting.settle?.(call, back, again) ?? back
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
    const retrying = noting('a', story, { settle: (call, back, again) => drain(back).then(() => again(call)) })
    await drain(await run([retrying, noting('b', story)]))
    expect(story.filter((line) => line === 'b decides')).toHaveLength(2)
    expect(story.filter((line) => line === 'b releases')).toHaveLength(2)
    expect(story.filter((line) => line === 'a releases')).toHaveLength(1)
  })
})
