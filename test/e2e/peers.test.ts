import { describe, expect, it } from 'vitest'
import { createKeyRing, createSigningKey } from '../../plugins/jws-key.ts'
import { createPeerSeal } from '../../proxy/folding/state/peer-seal.ts'
import { createReplica } from '../../proxy/folding/state/replica.ts'
import { until } from '../support/gate.ts'
import { freePort } from '../support/ports.ts'
import { type FoldingRig, layerStates, startFoldingRig } from './folding-rig.ts'

const stageOf = ({ gateway }: FoldingRig): string => gateway.setup().folding.stageOf('postprocess').stage
const say = (text: string): object => ({ messages: [{ role: 'user', content: text }] })

async function startPair() {
  const stack = new AsyncDisposableStack()
  const [one, two] = [await freePort(), await freePort()]
  const start = async (own: number, other: number) =>
    stack.use(
      await startFoldingRig({
        config: { admin: { port: own }, folding: { peers: [`127.0.0.1:${other}`] } },
      }),
    )
  const rigs = [await start(one, two), await start(two, one)] as const
  return { rigs, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

const tell = ({ gateway }: FoldingRig, body: object, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${gateway.adminUrl}/-/peers`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })

describe('two gateways that are peers', () => {
  it('move a layer together, and take it back together wherever that is asked for', async () => {
    await using pair = await startPair()
    const [a, b] = pair.rigs
    const asked = async (verb: string): Promise<number> => {
      const answers = await Promise.all([a.move('postprocess', verb), b.move('postprocess', verb)])
      return Math.min(...answers.map(({ status }) => status))
    }
    // Whoever leads moves it; that takes a moment to be agreed on.
    await until(async () => (await asked('shadow')) === 200 || stageOf(a) === 'shadow', 'somebody leads', 15_000)
    await until(() => stageOf(a) === 'shadow' && stageOf(b) === 'shadow', 'both are in shadow', 8_000)
    expect(layerStates(await b.chat(say('before')))['postprocess']).toBe('evaporation-started;by=gateway')
    const answer = await b.move('postprocess', 'rollback')
    expect(await answer.json()).toMatchObject({ confirmed: { of: 2 } })
    await until(() => stageOf(a) === 'rolled-back' && stageOf(b) === 'rolled-back', 'both are back', 3_000)
    expect(layerStates(await a.chat(say('after')))['postprocess']).toBe('active;by=gateway')
    const logged = [...a.gateway.lines, ...b.gateway.lines].filter(({ path }) => path === '/-/peers')
    expect(logged).toEqual([])
  }, 60_000)

  it('answer what is signed, whatever the host and without a token, and refuse everything else', async () => {
    await using pair = await startPair()
    const [a] = pair.rigs
    const sealed = (secret: Buffer): object => {
      const key = createSigningKey({ kid: 'k1', alg: 'HS256', secret })
      const seal = createPeerSeal({ key, ring: createKeyRing([key]) }, createReplica('third', Date.now()), Date.now)
      const { token } = seal.seal({ kind: 'tell', rev: 0, trips: {}, digest: '', counts: [] })
      return { token }
    }
    expect((await tell(a, sealed(Buffer.alloc(32, 'x')))).status).toBe(401)
    expect((await tell(a, {})).status).toBe(400)
    expect((await tell(a, { token: 'x'.repeat(70_000) })).status).toBe(413)
    const genuine = await tell(a, sealed(a.secret))
    expect([genuine.status, Object.keys((await genuine.json()) as object)]).toEqual([200, ['token']])
  }, 60_000)

  it('tell how many of them agree, and who was not heard of', async () => {
    const [one, two] = [await freePort(), await freePort()]
    const start = (own: number, other: number): Promise<FoldingRig> =>
      startFoldingRig({ config: { admin: { port: own }, folding: { peers: [`127.0.0.1:${other}`] } } })
    await using a = await start(one, two)
    const b = await start(two, one)
    const agreeing = (): boolean[] => a.gateway.stages.state.replicas().map(({ agrees }) => agrees)
    await until(() => agreeing().join() === 'true,true', 'both agree', 15_000)
    await b[Symbol.asyncDispose]()
    await until(() => agreeing().join() === 'true,false', 'one is missed', 15_000)
  }, 60_000)

  it('are not there where nobody is named', async () => {
    await using rig = await startFoldingRig()
    expect((await tell(rig, { token: 'x' })).status).toBe(404)
  })
})
