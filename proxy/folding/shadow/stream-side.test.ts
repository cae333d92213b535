import { describe, expect, it } from 'vitest'
import { chatChunk, DONE, dataEvent } from '../../../test/support/chat-replies.ts'
import type { Exchange } from '../../exchange.ts'
import { type CallFold, createCallFold } from '../call-fold.ts'
import type { FoldedExchange } from '../send.ts'
import { createStreamChecks } from './stream-checks.ts'
import { createStreamSide } from './stream-side.ts'

function foldedStream(events: readonly string[], type = 'text/event-stream'): FoldedExchange {
  const exchange: Partial<Exchange> = {
    status: 200,
    headers: { 'content-type': type },
    body: (async function* () {
      for (const event of events) yield Buffer.from(event)
    })(),
    trailers: {},
  }
  return { exchange } as FoldedExchange
}

function canaryFold(mode: 'enforce' | 'observe'): CallFold {
  return Object.assign(createCallFold(), {
    stages: new Map([['prompt', 'canary']]),
    modes: new Map([['prompt', mode]]),
  })
}

const sent = { body: Buffer.from('{"stream":true}'), idleMs: 1_000 }
const said = (content: string) => dataEvent(chatChunk({ content }))
const whole = [said('hello'), dataEvent(chatChunk({ finish: 'stop' })), DONE]

async function read({ body }: Exchange): Promise<string> {
  let text = ''
  for await (const part of body) text += part.toString()
  return text
}

describe('a stream of a canary', () => {
  it('goes by byte for byte, and what it breaks is noted on its call', async () => {
    const checks = createStreamChecks()
    const side = createStreamSide(checks)
    const fold = canaryFold('enforce')
    const cut = foldedStream([...whole.slice(0, 1), DONE])
    expect(await read(side.tapped(fold, cut, sent))).toBe(said('hello') + DONE)
    side.ended(fold, cut, { kind: 'complete' })
    expect(fold.broken).toEqual(['one-finish/missing'])
    expect(checks.tally().canary).toEqual({ checked: 1, left: 0, partly: 0, broken: { 'one-finish/missing': 1 } })
  })

  it('that is whole has nothing noted, and beside the canary it is looked at just the same', async () => {
    const checks = createStreamChecks()
    const side = createStreamSide(checks)
    const fold = canaryFold('observe')
    const stream = foldedStream(whole)
    await read(side.tapped(fold, stream, sent))
    side.ended(fold, stream, { kind: 'complete' })
    expect(fold.broken).toBeUndefined()
    expect(checks.tally()).toMatchObject({ canary: { checked: 0 }, control: { checked: 1, broken: {} } })
  })

  it('is told by its bytes whether its usage was asked for', async () => {
    const checks = createStreamChecks()
    const side = createStreamSide(checks)
    for (const body of ['{"stream_options":{"include_usage" : true}}', '{"content":"\\"include_usage\\": true"}']) {
      const fold = canaryFold('enforce')
      const stream = foldedStream(whole)
      await read(side.tapped(fold, stream, { ...sent, body: Buffer.from(body) }))
      side.ended(fold, stream, { kind: 'complete' })
    }
    expect(checks.tally().canary.broken).toEqual({ 'usage-as-asked/missing': 1 })
  })

  it('is left alone where no layer is in canary, where it is no stream, and where too many are looked at', async () => {
    const side = createStreamSide(createStreamChecks())
    const shadowed = Object.assign(createCallFold(), { stages: new Map([['prompt', 'shadow']]) })
    const stream = foldedStream(whole)
    expect(side.tapped(shadowed, stream, sent)).toBe(stream.exchange)
    const document = foldedStream(['{}'], 'application/json')
    expect(side.tapped(canaryFold('enforce'), document, sent)).toBe(document.exchange)
    const checks = createStreamChecks(0)
    expect(createStreamSide(checks).tapped(canaryFold('enforce'), stream, sent)).toBe(stream.exchange)
    expect(checks.tally().canary.left).toBe(1)
  })

  it('that a caller leaves in the middle is not broken, and makes room again', async () => {
    const checks = createStreamChecks(1)
    const side = createStreamSide(checks)
    const fold = canaryFold('enforce')
    const stream = foldedStream(whole)
    for await (const _ of side.tapped(fold, stream, sent).body) break
    side.ended(fold, stream, { kind: 'aborted' })
    expect(fold.broken).toBeUndefined()
    expect(checks.open({ usage: false, idleMs: 1, arm: 'control' })).toBeDefined()
  })
})
