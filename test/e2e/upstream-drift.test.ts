import { expect, it } from 'vitest'
import { startRunner } from '../../native-runner/runner.ts'
import { createSigningKey } from '../../plugins/jws-key.ts'
import type { EvidenceView } from '../../proxy/admin/operations.ts'
import type { ChangeView } from '../../proxy/admin/stage-view.ts'
import { until } from '../support/gate.ts'
import { type Fault, startFaultyRunner } from './faulty-runner.ts'
import { startFoldingRig } from './folding-rig.ts'

const key = (kid: string, secret: Buffer) => createSigningKey({ kid, alg: 'HS256', secret })

/** A canary whose runner can be exchanged for another at the same place. */
async function startExchangeable() {
  const stack = new AsyncDisposableStack()
  const faulty = stack.use(await startFaultyRunner('http://127.0.0.1:9'))
  const rig = stack.use(
    await startFoldingRig({
      stages: { postprocess: 'canary' },
      layers: { cache: undefined },
      config: { folding: { policy: { stages: [50, 100] } } },
      front: (url) => faulty.leading(url),
    }),
  )
  let told = 0
  const stage = () => rig.gateway.setup().folding.stageOf('postprocess')
  return {
    rig,
    faulty,
    stage,
    /** Exchanges the runner for one that knows these keys. */
    async exchange(kids: readonly string[]) {
      const keys = kids.map((kid) => key(kid, kid === 'k1' ? rig.secret : Buffer.alloc(32, kid)))
      const server = { port: 0, apiKey: 'a-runner-key-of-more-than-thirty-two-bytes' }
      const runner = stack.use(await startRunner({ engine: 'echo', model: 'echo', server, execution: { keys } }))
      faulty.lead(runner.url)
    },
    async call(body: object = {}) {
      const said = { messages: [{ role: 'user', content: `n ${told++}` }], ...body }
      const response = await rig.chat(said, { 'x-conversation-id': `c${told}` })
      await response.text()
      return response.status
    },
    async history() {
      const answer = await fetch(`${rig.gateway.adminUrl}/-/history`)
      return ((await answer.json()) as { changes: ChangeView[] }).changes
    },
    async judged() {
      const answer = await fetch(`${rig.gateway.adminUrl}/-/evidence`)
      return ((await answer.json()) as EvidenceView).layers['postprocess']
    },
    held: () => until(() => stage().held === true, 'it is on hold', 10_000),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

it('a runner that starts anew with another capability holds the canary, until somebody who has seen it resumes it', async () => {
  await using started = await startExchangeable()
  const { rig, stage, call, history, judged, exchange, held } = started
  for (let n = 0; n < 10; n++) await call()
  expect(stage().held).toBeFalsy()
  await exchange(['k1', 'k2'])
  // No caller notices.
  for (let n = 0; n < 10; n++) expect(await call()).toBe(200)
  await held()
  const last = (await history()).at(-1)
  expect(last).toMatchObject({ layer: 'postprocess', from: 'canary 50 %', to: 'canary 50 %, held', actor: 'foldgate' })
  expect(last?.reason).toMatch(
    /^upstream drift: runner a: another process: boot b_\S+ → b_\S+; capabilities \S+ → \S+: keys/,
  )
  await until(async () => (await judged())?.decision.kind === 'hold', 'the decision is a hold')
  expect((await rig.move('postprocess', 'promote')).status).toBe(409)
  expect((await rig.move('postprocess', 'resume')).status).toBe(200)
  // Acknowledged: the same change does not hold it again.
  const seen = (await history()).length
  for (let n = 0; n < 5; n++) await call()
  const before = (await judged())?.at ?? 0
  await until(async () => ((await judged())?.at ?? 0) > before + 1_500, 'it was judged twice since', 10_000)
  expect([stage().held ?? false, (await history()).length]).toEqual([false, seen])
  // The next one does.
  await exchange(['k1'])
  for (let n = 0; n < 10; n++) await call()
  await held()
  expect((await rig.move('postprocess', 'rollback')).status).toBe(200)
  expect(stage().stage).toBe('rolled-back')
}, 60_000)

it('a model that begins to name another fingerprint holds the canary', async () => {
  await using started = await startExchangeable()
  const { faulty, call, history, held, stage } = started
  const naming =
    (name: string): Fault =>
    ({ path }) =>
    (answer) => {
      if (path !== '/v1/chat/completions') return
      answer.body = (part) =>
        Buffer.from(part.toString().replaceAll('"object":', `"system_fingerprint":"${name}","object":`))
    }
  faulty.plant(naming('fp_old'))
  for (let n = 0; n < 10; n++) expect(await call({ stream: true })).toBe(200)
  expect(stage().held).toBeFalsy()
  faulty.plant(naming('fp_new'))
  for (let n = 0; n < 10; n++) await call({ stream: true })
  await held()
  expect((await history()).at(-1)?.reason).toContain('system_fingerprint of echo fp_old → fp_new')
}, 60_000)
