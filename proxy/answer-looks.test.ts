import { expect, test } from 'vitest'
import type { Chunk } from '../plugins/chat.ts'
import { type Reply, replyFromChunks } from '../plugins/reply.ts'
import { createAnswerLooks, lookAt } from './answer-looks.ts'
import { type CallRecord, createCallRecord } from './call-record.ts'
import { createCallFold } from './folding/call-fold.ts'
import type { Flight } from './folding/collect/in-flight.ts'
import type { CallSpan } from './telemetry/call-span.ts'

const drawn = { rollout: 'r1', step: 'S1', tier: '', arm: 'canary', unit: 'u', tenant: 't', startedAt: 1 } as const
const flight: Flight = { call: drawn, started() {}, firstByte() {}, over() {} }

function recordOf(inRollout = true): CallRecord {
  const record = createCallRecord(1, {} as CallSpan)
  record.fold = createCallFold()
  if (inRollout) record.fold.flight = flight
  return record
}

const says = (delta: Readonly<Record<string, string>>, finish: string | null = null): Chunk => ({
  system_fingerprint: 'fp_1',
  choices: [{ index: 0, delta, finish_reason: finish }],
})
const replyOf = (chunks: readonly Chunk[], source: 'runner' | 'cache' = 'runner'): Reply =>
  replyFromChunks({ status: 200, streamed: true, source, target: { runner: 'gpu-a', model: 'm' } }, chunks)

function looking() {
  const so = { now: 0, named: [] as string[] }
  const looks = createAnswerLooks({
    elapsed: () => so.now,
    fingerprint: ({ runner, model }, name) => void so.named.push(`${runner} ${model} ${name}`),
  })
  return {
    so,
    looks,
    async seen(reply: Reply, record = recordOf()) {
      await looks.at(reply, record).collect()
      return lookAt(record)
    },
  }
}

test('an answer is told by its end, its length and whether the model declined, and by nothing that it says', async () => {
  const { seen, so } = looking()
  const cut = await seen(
    replyOf([says({ role: 'assistant' }), says({ content: 'secret' }), says({ content: ' words' }, 'length')]),
  )
  expect(cut).toEqual({ finish: 'length', declined: false, chars: 12 })
  expect(await seen(replyOf([says({ refusal: 'no' }, 'stop')]))).toEqual({ finish: 'stop', declined: true, chars: 0 })
  expect(await seen(replyOf([says({ content: 'a' }, 'content_filter')]))).toMatchObject({ declined: true })
  expect(so.named).toEqual(['gpu-a m fp_1', 'gpu-a m fp_1', 'gpu-a m fp_1'])
})

test('what does not finish, comes from the cache or belongs to no rollout is not looked at', async () => {
  const { seen, looks } = looking()
  expect(await seen(replyOf([says({ content: 'a' })]))).toBeUndefined()
  const stored = replyOf([says({ content: 'a' }, 'stop')], 'cache')
  expect(looks.at(stored, recordOf())).toBe(stored)
  const reply = replyOf([says({ content: 'a' }, 'stop')])
  expect(looks.at(reply, recordOf(false))).toBe(reply)
  expect(looks.at(reply, createCallRecord(1, {} as CallSpan))).toBe(reply)
})

test('20 a second are looked at, and 40 at once after a pause', async () => {
  const { looks, so } = looking()
  const looked = (calls: number): number => {
    const replies = Array.from({ length: calls }, () => replyOf([]))
    return replies.filter((reply) => looks.at(reply, recordOf()) !== reply).length
  }
  expect(looked(100)).toBe(40)
  so.now += 500
  expect(looked(100)).toBe(10)
  so.now += 60_000
  expect(looked(100)).toBe(40)
})
