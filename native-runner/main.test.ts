import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { expect, it, vi } from 'vitest'

const main = new URL('./main.ts', import.meta.url)

function start(...args: string[]) {
  const child = fork(main, args, { silent: true, execArgv: [] })
  let said = ''
  child.stderr!.on('data', (text) => {
    said += text
  })
  return { child, said: () => said }
}

const ended = async (child: ChildProcess) => (await once(child, 'exit'))[0] as number | null

it('the parent learns where it listens, and a stopped runner ends with 0 once its calls have', async () => {
  const { child, said } = start('--engine', 'echo', '--port', '0')
  const [ready] = await once(child, 'message')
  expect(ready).toMatchObject({
    ready: true,
    engine: 'echo',
    model: 'echo',
    url: expect.stringMatching(/^http:\/\/127/),
  })
  const reply = await fetch(`${ready.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'hi' }] }),
  })
  expect(reply.status).toBe(200)
  await vi.waitFor(() => expect(said()).toContain(`runner listening on ${ready.url} (engine echo, model echo)`))
  const end = ended(child)
  child.kill('SIGTERM')
  expect(await end).toBe(0)
})

it('a runner whose parent is gone stops', async () => {
  const { child } = start('--engine', 'echo', '--port', '0')
  await once(child, 'message')
  const end = ended(child)
  child.disconnect()
  expect(await end).toBe(0)
})

it('an unknown flag ends it with 2 and the usage', async () => {
  const { child, said } = start('--nonsense')
  expect(await ended(child)).toBe(2)
  await vi.waitFor(() => expect(said()).toContain('usage: runner'))
})

it('a runner that cannot start tells its parent why and ends with 1', async () => {
  const { child } = start('--model', '/does/not/exist.gguf', '--port', '0')
  const [message] = await once(child, 'message')
  expect(message).toMatchObject({ ready: false, code: 'model_unavailable' })
  expect(await ended(child)).toBe(1)
})
