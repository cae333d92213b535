/** Calls that go on until they are stopped, and what came of them. */
export interface DemoLoad {
  readonly calls: number
  /** Calls that the runner's half of the layer was to decide. */
  readonly canary: number
  /** Calls whose answer was not 200. */
  readonly failed: number
  /** Counts from 0 again. */
  reset(): void
  stop(): Promise<void>
}

const lanes = 12

/** Begins to call a gateway, a dozen calls at a time, each in a conversation of its own. */
export function startDemoLoad(url: string, layer: string): DemoLoad {
  let [calls, canary, failed, number, going] = [0, 0, 0, 0, true]
  const call = async (): Promise<void> => {
    const id = number++
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-conversation-id': `demo-${id}` },
      body: JSON.stringify({ model: 'demo', max_tokens: 8, messages: [{ role: 'user', content: `number ${id}` }] }),
    })
    await answer.arrayBuffer()
    calls++
    if (answer.status !== 200) failed++
    const status = answer.headers.get('x-layer-status') ?? ''
    if (new RegExp(`${layer}=(evaporation-accelerating|fallback)`).test(status)) canary++
  }
  const lane = async (): Promise<void> => {
    while (going) await call().catch(() => void failed++)
  }
  const running = Array.from({ length: lanes }, lane)
  return {
    get calls() {
      return calls
    },
    get canary() {
      return canary
    },
    get failed() {
      return failed
    },
    reset() {
      ;[calls, canary, failed] = [0, 0, 0]
    },
    async stop() {
      going = false
      await Promise.all(running)
    },
  }
}
