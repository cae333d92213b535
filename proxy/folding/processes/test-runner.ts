import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Acknowledgement, essenceDigest, type LayerMember } from '../../../plugins/acknowledgement.ts'
import { acknowledgementKey, sealAcknowledgement } from '../../../plugins/acknowledgement-verify.ts'
import { createCall } from '../../../plugins/call.ts'
import { credentialHeader, credentialsFromText } from '../../../plugins/caller-credential.ts'
import { type Capabilities, layerVersions, withDigest } from '../../../plugins/capabilities.ts'
import { callFromContext } from '../../../plugins/context-call.ts'
import type { ExecutionContext } from '../../../plugins/execution-context.ts'
import { openContext } from '../../../plugins/execution-context-open.ts'
import { type ContextRefusal, problemFromRefusal } from '../../../plugins/execution-context-refusal.ts'
import type { Seat } from '../../../plugins/host.ts'
import { createKeyRing, type SigningKey } from '../../../plugins/jws-key.ts'
import { type Layer, wholeVerdict } from '../../../plugins/layer.ts'
import type { Policy } from '../../../plugins/policy.ts'
import { openPolicy } from '../../../plugins/policy-carrier.ts'
import { knownPolicyFrom, type LayerReport, type PolicyReport } from '../../../plugins/policy-report.ts'
import { createReplaySet } from '../../../plugins/replay-set.ts'
import { pass, type Verdict } from '../../../plugins/verdict.ts'
import { createTestHost } from '../../../test/support/host.ts'

/** What a test's runner is like. */
export interface TestRunnerInit {
  readonly layers: readonly Layer[]
  readonly key: SigningKey
  readonly now: () => number
  readonly boot: string
  readonly port?: number
  /** Default 127.0.0.1. */
  readonly address?: string
  readonly capabilities?: Partial<Capabilities>
  /** What it says of a layer in place of what is so. */
  readonly lie?: (member: LayerMember, layer: string) => LayerMember
}

/** A small runner over the rules: capabilities, policies and `decide`. */
export interface TestRunner extends AsyncDisposable {
  readonly url: string
  readonly port: number
  readonly capabilities: Capabilities
  /** What was asked, in order, such as `PUT /policies/ab…`, with the headers. */
  readonly asked: { readonly what: string; readonly headers: IncomingMessage['headers'] }[]
  /** Digests given so far, each as often as it was given. */
  given(digest?: string): readonly string[]
  /** Lies from now on. */
  lie: TestRunnerInit['lie']
  /** Answers held back until it resolves. */
  hold: Promise<void> | undefined
  /** Lets go of a policy, as a bounded cache does. */
  drop(digest: string): void
}

const root = '/.well-known/execution-context'

/** Starts a {@link TestRunner} on a port of its own. */
export async function startTestRunner(init: TestRunnerInit): Promise<TestRunner> {
  const { address = '127.0.0.1' } = init
  const policies = new Map<string, { policy: Policy; report: PolicyReport }>()
  const state = {
    init,
    policies,
    capabilities: capabilitiesOf(init),
    replay: createReplaySet(),
    keys: createKeyRing([init.key]),
  }
  const server = createServer((request, response) => void serve(request, response))
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const body = Buffer.concat(parts)
    const { url = '' } = request
    const what = `${request.method} ${url.startsWith(root) ? url.slice(root.length) : url}`
    runner.asked.push({ what, headers: request.headers })
    await runner.hold
    const { status, headers, text } = answerTo(what, { headers: request.headers, body }, { ...state, lie: runner.lie })
    response.writeHead(status, headers).end(text)
  }
  await new Promise<void>((done, fail) => server.once('error', fail).listen(init.port ?? 0, address, done))
  const { port } = server.address() as AddressInfo
  const runner: TestRunner = {
    url: `http://${address}:${port}`,
    port,
    capabilities: state.capabilities,
    asked: [],
    given: (digest = '') =>
      runner.asked.flatMap(({ what }) => (what.startsWith(`PUT /policies/${digest}`) ? [what.slice(14)] : [])),
    lie: init.lie,
    hold: undefined,
    drop: (digest) => void policies.delete(digest),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
  return runner
}

function capabilitiesOf({ layers, key, boot, capabilities }: TestRunnerInit): Capabilities {
  return withDigest({
    versions: [1],
    runner: 'test/1',
    boot,
    state: 'local',
    placement: 'beside-engine',
    engine: { name: 'none', version: '1' },
    keys: [key.kid],
    maxContextBytes: 4_096,
    layers: Object.fromEntries(layers.map(({ name, native }) => [name, { version: native?.version ?? 1 }])),
    models: [],
    load: { running: 0, queued: 0, free: 1 },
    ...capabilities,
  })
}

interface Room {
  readonly init: TestRunnerInit
  readonly policies: Map<string, { policy: Policy; report: PolicyReport }>
  readonly capabilities: Capabilities
  readonly replay: ReturnType<typeof createReplaySet>
  readonly keys: ReturnType<typeof createKeyRing>
  readonly lie: TestRunnerInit['lie']
}

interface Asked {
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

function answerTo(what: string, asked: Asked, room: Room): Answer {
  if (what === 'GET ') return json(room.capabilities)
  if (what.startsWith('PUT /policies/')) return taken(what.slice(14), asked, room)
  if (what === 'POST /decide') return decided(asked, room)
  return { status: 404, headers: {}, text: '' }
}

const json = (value: unknown, headers = {}): Answer => ({
  status: 200,
  headers: { 'content-type': 'application/json', ...headers },
  text: JSON.stringify(value),
})

function refused(refusal: ContextRefusal): Answer {
  const { status, headers, body } = problemFromRefusal(refusal)
  return { status, headers, text: body }
}

function taken(digest: string, { body }: Asked, { init, keys, policies, capabilities }: Room): Answer {
  const opened = openPolicy(body.toString('latin1'), { digest, keys, aud: capabilities.boot, now: init.now() })
  if (!opened.ok) return refused(opened.refusal)
  const seat = createTestHost() as unknown as Seat
  const found = opened.policy.steps.map(({ layer, step }): [string, LayerReport] => {
    const native = init.layers.find(({ name }) => name === layer)?.native
    if (!native) return [layer, { status: 'refused', code: 'UNKNOWN_LAYER', ms: 0 }]
    return [layer, { ...(native.inspect?.(step, seat) ?? { status: 'compiled' }), ms: 0 }]
  })
  const report = { pol: digest, layers: Object.fromEntries(found) }
  policies.set(digest, { policy: opened.policy, report })
  return json(report)
}

function decided({ headers, body }: Asked, room: Room): Answer {
  const { init, keys, policies, replay, capabilities } = room
  const credential = headers[credentialHeader] as string | undefined
  const known = new Map([...policies].map(([pol, { policy, report }]) => [pol, knownPolicyFrom(policy, report)]))
  const opened = openContext(headers['x-execution-context'] as string | undefined, {
    keys,
    aud: capabilities.boot,
    now: init.now(),
    body,
    ...(credential === undefined ? {} : { credential }),
    replay,
    policies: known,
    layers: layerVersions(capabilities),
  })
  if (!opened.ok) return refused(opened.refusal)
  const { context } = opened
  const layers = Object.keys(context.modes).map((name) => [name, memberOf(name, { context, body, credential }, room)])
  const said: Acknowledgement = {
    runner: { boot: capabilities.boot, caps: capabilities.caps, id: context.id, pol: context.pol },
    layers: Object.fromEntries(layers),
  }
  const text = sealAcknowledgement(said, context, { part: 'head', key: acknowledgementKey(init.key) })
  return json({}, { 'x-layer-ack': text })
}

interface Decision {
  readonly context: ExecutionContext
  readonly body: Buffer
  readonly credential: string | undefined
}

function memberOf(name: string, { context, body, credential }: Decision, { init, policies, lie }: Room): LayerMember {
  const native = init.layers.find((layer) => layer.name === name)?.native
  const policy = policies.get(context.pol)?.policy
  const step = policy?.steps.find(({ layer }) => layer === name)
  const headers = credential === undefined ? {} : (credentialsFromText(credential) ?? {})
  const { signal } = new AbortController()
  const call = policy
    ? callFromContext(context, { route: policy.route, body, headers, signal })
    : createCall({ id: '', route: 'chat', now: 0, body, headers, facts: {}, signal })
  const acting = native?.act(step?.step, createTestHost() as unknown as Seat) as { decide(of: typeof call): Verdict }
  const verdict = acting.decide(call) ?? pass()
  const essence = native?.essence ? native.essence(verdict, call) : wholeVerdict(verdict)
  const member: LayerMember = {
    v: step?.version ?? 1,
    m: context.modes[name] ?? 'observe',
    o: verdict.kind,
    ...(verdict.kind === 'refuse' ? { code: verdict.error.code } : {}),
    d: 1,
    e: essenceDigest(essence),
  }
  return lie ? lie(member, name) : member
}
