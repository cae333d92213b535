import { expect, test } from 'vitest'
import { begin } from '../support/ask.ts'
import { chatChunk, dataEvent, sseHead } from '../support/chat-replies.ts'
import { steady } from '../support/gate.ts'
import { failOnLeaks } from '../support/leaks.ts'
import { heldBytes, messageRequest, startRig, streamRequest } from './rig.ts'
import { stacks } from './stacks.ts'

failOnLeaks()

const clients = 20
const streamBytes = 200 * 1024 * 1024
const MiB = 1024 * 1024
// What waits on the way of one stream: the sockets' buffers in the kernel, on both sides, are most of it.
const mostPerStream = 12 * MiB
// The cache's own bound of an entry, 4 MiB, and little else.
const mostHeldPerStream = 6 * MiB

const event = Buffer.from(dataEvent(chatChunk({ content: 'so much to say '.repeat(250) })))

function* flood(): Generator<Buffer> {
  const many = Buffer.concat(Array.from({ length: 16 }, () => event))
  for (let sent = 0; sent < streamBytes; sent += many.length) yield many
}

const routes = [
  ...stacks.map((stack) => ({ name: stack.name, stack, route: 'chat' as const, request: streamRequest })),
  { name: 'Anthropic', stack: stacks[0], route: 'messages' as const, request: () => messageRequest({ stream: true }) },
]

test.each(routes)(
  'A17 callers that stop reading pause the runner, and little is held for them: $name',
  // What sockets of this process hold at that moment differs: it is looked at again before it is believed.
  { retry: 2, timeout: 40_000 },
  async (each) => {
    await using rig = await startRig(sseHead().pour(flood), { ...(each.stack && { stack: each.stack }) })
    const before = heldBytes()
    await using askings = new AsyncDisposableStack()
    for (let client = 0; client < clients; client++) {
      const asking = askings.use(await begin(rig[each.route], { body: each.request() }))
      asking.client.pause()
    }
    const sent = await steady(
      () => rig.u.requests.reduce((sum, { sentBytes }) => sum + sentBytes, 0),
      'what was sent',
      15_000,
    )
    expect(rig.u.requests).toHaveLength(clients)
    expect(sent / clients).toBeLessThan(mostPerStream)
    expect((heldBytes() - before) / clients).toBeLessThan(mostHeldPerStream)
  },
)

test('A17 a caller that reads again gets the rest', async () => {
  const rest = 30 * MiB
  const part = function* () {
    for (let sent = 0; sent < rest; sent += event.length) yield event
  }
  const end = dataEvent(chatChunk({ finish: 'stop' }))
  await using rig = await startRig(sseHead().pour(part).send(end))
  await using asking = await begin(rig.chat, { body: streamRequest() })
  asking.client.pause()
  await steady(() => rig.u.requests[0]?.sentBytes ?? 0, 'what was sent', 10_000)
  asking.client.resume()
  const { how } = await asking.response.done(15_000)
  expect(how).toBe('complete')
  expect(asking.response.bytesReceived).toBe(Math.ceil(rest / event.length) * event.length + Buffer.byteLength(end))
}, 40_000)

test('A17 a caller that reads nothing for too long is cut, and so is the runner', async () => {
  await using rig = await startRig(sseHead().pour(flood), { config: { listen: { writeStallTimeoutMs: 200 } } })
  await using asking = await begin(rig.chat, { body: streamRequest() })
  asking.client.pause()
  await rig.u.closed(0, 10_000)
  expect(rig.u.requests[0]?.sentBytes).toBeLessThan(mostPerStream)
}, 20_000)
