import { describe, expect, it } from 'vitest'
import { essenceDigest } from '../../../plugins/acknowledgement.ts'
import { createCall } from '../../../plugins/call.ts'
import { gatewayError } from '../../../plugins/errors.ts'
import { bodyDigest } from '../../../plugins/execution-context.ts'
import type { Layer } from '../../../plugins/layer.ts'
import type { LayerStage } from '../../../plugins/stage.ts'
import { pass, refuse, type Verdict } from '../../../plugins/verdict.ts'
import { createIgnores } from '../diff/ignore-rules.ts'
import type { BothSaid } from './both-said.ts'
import { type CompareSettings, createComparing } from './comparing.ts'

const call = createCall({
  id: 'c'.repeat(32),
  route: 'chat',
  now: 0,
  body: Buffer.from('{"model":"m","messages":[{"role":"user","content":"x"}]}'),
  headers: {},
  facts: {},
  signal: new AbortController().signal,
})
const layer = { name: 'rate-limit', native: { essence: ({ kind }: Verdict) => ({ kind }) } } as unknown as Layer

function settingsOf(stage: () => LayerStage = () => ({ stage: 'shadow', weight: 0 })): CompareSettings {
  return { layers: new Map([['rate-limit', layer]]), stageOf: stage, ignores: createIgnores([]), sample: undefined }
}

interface Sayings {
  readonly here?: Verdict
  readonly there?: 'pass' | 'refuse'
  readonly mode?: 'observe' | 'enforce'
  readonly reads?: boolean
  readonly counts?: boolean
  readonly sent?: Buffer
}

function bothOf({
  here = pass(),
  there = 'pass',
  mode = 'observe',
  reads = true,
  counts = true,
  sent,
}: Sayings): BothSaid {
  const member = { v: 1, m: mode, o: there, e: essenceDigest({ kind: there }) }
  return {
    halves: [{ name: 'rate-limit', verdict: here, call, counts }],
    acknowledgement: { runner: { id: call.id }, layers: { 'rate-limit': member } },
    context: {
      modes: { 'rate-limit': mode },
      bod: bodyDigest(sent ?? call.body),
      ...(reads ? { reads: { 'rate-limit': { q0: 1 } } } : {}),
    },
    cacheHit: false,
    rollout: 'r',
    at: 1,
  }
}

function start() {
  const counted: string[] = []
  let dropped = 0
  const comparing = createComparing({ counted: (name, as) => counted.push(`${name} ${as}`), dropped: () => dropped++ })
  return { comparing, counted, dropped: () => dropped }
}

const limited = refuse(gatewayError('rate_limited', 'slow down'))

describe('comparing', () => {
  it('happens after whoever asked for it has gone on', async () => {
    const { comparing, counted } = start()
    comparing.said(bothOf({}), settingsOf())
    expect(counted).toEqual([])
    await comparing.idle()
    expect(counted).toEqual(['rate-limit equal'])
  })

  it('is given up, counted and a hole in what is covered when too much waits (scenario 16)', async () => {
    const { comparing, counted, dropped } = start()
    for (let index = 0; index < 1_030; index++) comparing.said(bothOf({}), settingsOf())
    expect([dropped(), counted.length]).toEqual([6, 6])
    await comparing.idle()
    const book = comparing.snapshot(2).layers['rate-limit']
    expect(book).toMatchObject({ total: { equal: 1_024, skipped: 6 }, skipped: { budget: 6 } })
  })

  it('takes a difference for hard only where the runner judged over what was read here', async () => {
    const { comparing } = start()
    const differing = { here: limited, there: 'pass' } as const
    comparing.said(bothOf(differing), settingsOf())
    comparing.said(bothOf({ ...differing, reads: false }), settingsOf())
    comparing.said(bothOf({ ...differing, mode: 'enforce' }), settingsOf())
    await comparing.idle()
    expect(comparing.snapshot(2).layers['rate-limit']).toMatchObject({ hard: 1, skipped: { 'at-limit': 2 } })
  })

  it('leaves out digests of different requests, and never a decision that differs', async () => {
    const { comparing } = start()
    const sent = Buffer.from('{}')
    const both = bothOf({ sent, counts: false })
    const member = { ...both.acknowledgement.layers['rate-limit'], e: essenceDigest('other') }
    const other = { ...both, acknowledgement: { ...both.acknowledgement, layers: { 'rate-limit': member } } }
    comparing.said(other, settingsOf())
    comparing.said(bothOf({ sent, counts: false, here: limited }), settingsOf())
    await comparing.idle()
    expect(comparing.snapshot(2).layers['rate-limit']).toMatchObject({ hard: 1, skipped: { rewritten: 1 } })
  })

  it('does not count a layer whose call ended further out at the runner', async () => {
    const { comparing, counted } = start()
    const both = bothOf({})
    comparing.said(
      {
        ...both,
        acknowledgement: { runner: { id: call.id }, layers: { auth: { o: 'refuse', m: 'enforce' } } },
        context: { ...both.context, modes: { auth: 'enforce', 'rate-limit': 'enforce' } },
      },
      settingsOf(),
    )
    await comparing.idle()
    expect(counted).toEqual([])
  })

  it('is evidence for a rollout only where the layer itself moves', async () => {
    const { comparing } = start()
    const heard: (string | undefined)[] = []
    comparing.listen(({ rollout }) => heard.push(rollout))
    comparing.said(bothOf({}), settingsOf())
    comparing.said(
      bothOf({}),
      settingsOf(() => ({ stage: 'native', weight: 0 })),
    )
    await comparing.idle()
    expect(heard).toEqual(['r', undefined])
  })

  it('begins a new page when a layer has moved or a new rollout has begun', async () => {
    const { comparing } = start()
    let standing: LayerStage = { stage: 'shadow', weight: 0, rollout: 'one' }
    const settings = settingsOf(() => standing)
    const equalNow = async () => {
      comparing.said(bothOf({}), settings)
      await comparing.idle()
      const { stage, total } = comparing.snapshot(2).layers['rate-limit'] ?? {}
      return [stage, total?.equal]
    }
    expect([await equalNow(), await equalNow()]).toEqual([
      ['shadow', 1],
      ['shadow', 2],
    ])
    standing = { stage: 'shadow', weight: 0, rollout: 'two' }
    expect(await equalNow()).toEqual(['shadow', 1])
    standing = { stage: 'canary', weight: 10, rollout: 'two' }
    expect(await equalNow()).toEqual(['canary 10 %', 1])
  })
})
