import type { Endpoint } from '../endpoint.ts'
import type { Operations } from '../operations.ts'
import type { ChangeView } from '../stage-view.ts'
import { createFeed, type Feed } from './feed.ts'
import { runbookNames } from './page-files.ts'
import { pageSnapshotFrom } from './snapshot.ts'

const feeds = new WeakMap<Operations, Feed>()

/** One a gateway, whatever number of pages is open. */
function feedOf(operations: Operations): Feed {
  const known = feeds.get(operations)
  if (known) return known
  const history = historyOf(operations)
  const feed = createFeed({
    async snapshot() {
      const now = Date.now()
      return pageSnapshotFrom(operations, { now, history: await history(now), runbooks: runbookNames() })
    },
  })
  feeds.set(operations, feed)
  return feed
}

const fewChanges = 50
const historyMs = 5_000

/** The history may lie in a store: it is read again when a layer has moved, and every five seconds. */
function historyOf(operations: Operations): (now: number) => Promise<readonly ChangeView[]> {
  let read: { readonly key: string; readonly at: number; readonly changes: readonly ChangeView[] } | undefined
  return async (now) => {
    const key = JSON.stringify(operations.layers().map(({ stage, weight, held }) => [stage, weight, held]))
    if (!read || read.key !== key || now - read.at >= historyMs)
      read = { key, at: now, changes: await operations.history(fewChanges) }
    return read.changes
  }
}

/** `GET /-/events`: what the on-call page shows, as server-sent events: `viewer` once, then a whole `snapshot` whenever something changed. */
export const events: Endpoint = {
  method: 'GET',
  path: '/-/events',
  run: (operations, { actor, signal }) => ({
    contentType: 'text/event-stream; charset=utf-8',
    // Proxies that hold answers back would show the page old news.
    headers: { 'x-accel-buffering': 'no' },
    body: feedOf(operations).open(actor, signal),
  }),
}
