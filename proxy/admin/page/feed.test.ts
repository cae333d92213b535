import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { expect, test, vi } from 'vitest'
import { until } from '../../../test/support/gate.ts'
import type { Actor } from '../operations.ts'
import { createFeed, type FeedParts } from './feed.ts'
import type { PageSnapshot } from './page-snapshot.ts'

const viewer: Actor = { name: 'screen', role: 'viewer', verified: true }

/** A feed over a picture that the test changes, quick enough for one. */
function start(more: Partial<FeedParts> = {}) {
  const shown = { words: 'one', at: 0, looks: 0 }
  const feed = createFeed({
    snapshot: async () => {
      shown.looks++
      return { at: ++shown.at, findings: shown.words } as unknown as PageSnapshot
    },
    everyMs: 5,
    quietMs: 60_000,
    ...more,
  })
  return { feed, shown }
}

function heardFrom(stream: Readable): { readonly names: () => string[]; readonly text: () => string } {
  let text = ''
  stream.setEncoding('utf8').on('data', (piece: string) => {
    text += piece
  })
  return { names: () => [...text.matchAll(/^event: (\w+)$/gm)].map(([, name]) => name as string), text: () => text }
}

test('who looks is told who they are, then what there is, and then only what is new', async () => {
  const { feed, shown } = start()
  const gone = new AbortController()
  const heard = heardFrom(feed.open(viewer, gone.signal))
  await until(() => shown.looks > 5, 'it has looked')
  expect(heard.names()).toEqual(['viewer', 'snapshot'])
  expect(heard.text()).toContain('data: {"name":"screen","role":"viewer","verified":true}')
  shown.words = 'two'
  await until(() => heard.names().length === 3, 'the change is told')
  expect(heard.text()).toMatch(/event: snapshot\ndata: \{"at":\d+,"findings":"two"\}\n\n$/)
  gone.abort()
})

test('when nothing changes something is said all the same, so that silence means that nobody speaks', async () => {
  const { feed } = start({ quietMs: 20 })
  const gone = new AbortController()
  const heard = heardFrom(feed.open(viewer, gone.signal))
  await until(() => heard.names().length > 3, 'it is told again')
  gone.abort()
})

test('one look serves all who look, a late one has the last at once, and none is made while nobody does', async () => {
  const { feed, shown } = start()
  const gone = new AbortController()
  const first = heardFrom(feed.open(viewer, gone.signal))
  await until(() => first.names().includes('snapshot'), 'the first is told')
  const second = heardFrom(feed.open(viewer, gone.signal))
  await until(() => second.names().length === 2, 'the second is told')
  expect(feed.size).toBe(2)
  gone.abort()
  await until(() => feed.size === 0, 'both are gone')
  const { looks } = shown
  await new Promise((later) => setTimeout(later, 30))
  expect(shown.looks).toBe(looks)
  const again = new AbortController()
  const third = heardFrom(feed.open(viewer, again.signal))
  await until(() => third.names().includes('snapshot'), 'it looks again for somebody new')
  again.abort()
})

test('a stream ends by itself in time, so that a token that was taken away counts', async () => {
  const { feed } = start({ lifeMs: 20 })
  const stream = feed.open(viewer, new AbortController().signal)
  stream.resume()
  await once(stream, 'close')
  expect(feed.size).toBe(0)
})

test('somebody who does not read misses snapshots instead of filling the memory', async () => {
  const big = 'x'.repeat(100_000)
  let number = 0
  const snapshot = vi.fn(async () => ({ at: 0, findings: `${number++}${big}` }) as unknown as PageSnapshot)
  const { feed } = start({ snapshot })
  const gone = new AbortController()
  const stream = feed.open(viewer, gone.signal)
  await until(() => snapshot.mock.calls.length > 12, 'it has looked')
  expect(stream.readableLength + (stream as unknown as { writableLength: number }).writableLength).toBeLessThan(600_000)
  gone.abort()
  stream.resume()
  await once(stream, 'close')
})

test('a look that fails is made again, and not more than fifty may look', async () => {
  let broken = true
  const { feed } = start({
    snapshot: async () => {
      if (broken) throw new TypeError('not now')
      return { at: 1 } as PageSnapshot
    },
  })
  const gone = new AbortController()
  const heard = heardFrom(feed.open(viewer, gone.signal))
  await new Promise((later) => setTimeout(later, 20))
  broken = false
  await until(() => heard.names().includes('snapshot'), 'it looks again')
  const others = Array.from({ length: 49 }, () => feed.open(viewer, gone.signal).resume())
  expect(() => feed.open(viewer, gone.signal)).toThrow(/too many/)
  gone.abort()
  await Promise.all(others.map((each) => each.closed || once(each, 'close')))
})
