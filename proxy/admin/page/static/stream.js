/**
 * What a stream tells. `closed`: it is down, and is tried again by itself. `refused`: a token is needed, or this one is not good.
 * @typedef {object} Hearing
 * @property {() => string | null} token
 * @property {(name: string, data: unknown) => void} event
 * @property {(why: string) => void} closed
 * @property {(why: string) => void} refused
 */

const ended = 'the stream ended'
const leastMs = 500
const mostMs = 5_000
/** The gateway says something every five seconds. */
const silentMs = 12_000

/**
 * Listens to the gateway, again and again, until it is refused or stopped. By `fetch` and not by `EventSource`, which cannot send a token but
 * in the URL, where logs would have it.
 * @param {Hearing} hearing
 */
export function listen(hearing) {
  let [waitMs, stopped] = [leastMs, false]
  /** @type {AbortController} */
  let current = new AbortController()
  const run = async () => {
    while (!stopped) {
      current = new AbortController()
      let heard = false
      const why = await once(hearing, current, () => {
        heard = true
        waitMs = leastMs
      })
      if (stopped || why === undefined) return
      // Each stream ends after some minutes, and another one follows: that is nothing to be told of.
      if (!heard || why !== ended) hearing.closed(why)
      await new Promise((done) => setTimeout(done, waitMs))
      waitMs = Math.min(mostMs, waitMs * 1.6)
    }
  }
  void run()
  return {
    stop() {
      stopped = true
      current.abort()
    },
  }
}

/**
 * One stream from its head to its end. What it ended with; undefined: it was refused, and to try again would be no use.
 * @param {Hearing} hearing
 * @param {AbortController} controller
 * @param {() => void} heard
 * @returns {Promise<string | undefined>}
 */
async function once(hearing, controller, heard) {
  let timer = setTimeout(() => controller.abort(), silentMs)
  try {
    const token = hearing.token()
    const headers = token ? { authorization: `Bearer ${token}` } : undefined
    const url = new URL('-/events', document.baseURI)
    const answer = await fetch(url, { ...(headers ? { headers } : {}), signal: controller.signal, cache: 'no-store' })
    if (answer.status === 401) {
      hearing.refused(token ? 'This token is not known here.' : '')
      return undefined
    }
    if (!answer.ok || !answer.body) return `the gateway answered ${answer.status}`
    for await (const text of textsOf(answer.body)) {
      clearTimeout(timer)
      timer = setTimeout(() => controller.abort(), silentMs)
      const { name, data } = partsOf(text)
      if (data === '') continue
      heard()
      hearing.event(name, JSON.parse(data))
    }
    return ended
  } catch {
    return 'the gateway does not answer'
  } finally {
    clearTimeout(timer)
    controller.abort()
  }
}

/**
 * The events of a stream as they come, each as its lines.
 * @param {ReadableStream<Uint8Array>} body
 */
async function* textsOf(body) {
  const reader = body
    .pipeThrough(/** @type {TransformStream<Uint8Array, string>} */ (new TextDecoderStream()))
    .getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const parts = (rest + value).split('\n\n')
    rest = parts.pop() ?? ''
    yield* parts
  }
}

/** @param {string} text */
function partsOf(text) {
  const lines = text.split('\n')
  /** @param {string} name */
  const field = (name) =>
    lines.filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2))
  return { name: field('event')[0] ?? 'message', data: field('data').join('\n') }
}
