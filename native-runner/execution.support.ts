import { createHash, randomBytes } from 'node:crypto'
import { type IncomingHttpHeaders, request } from 'node:http'
import { acknowledgementHeaders } from '../plugins/acknowledgement.ts'
import { type Acknowledged, acknowledgementKey, verifyAcknowledgement } from '../plugins/acknowledgement-verify.ts'
import { textFromCredentials } from '../plugins/caller-credential.ts'
import type { Capabilities } from '../plugins/capabilities.ts'
import { secretKey } from '../plugins/execution-context.support.ts'
import { bodyDigest, createContext, credentialDigest, type ExecutionContext } from '../plugins/execution-context.ts'
import { sealContext } from '../plugins/execution-context-seal.ts'
import type { SigningKey } from '../plugins/jws-key.ts'
import { type Policy, policyDigest } from '../plugins/policy.ts'
import { sealPolicy } from '../plugins/policy-carrier.ts'
import type { PolicyReport } from '../plugins/policy-report.ts'
import { type Echo, startEcho } from './echo-fixture.ts'
import { testLayers } from './execution-layers.support.ts'
import type { ExecutionOptions } from './execution-options.ts'
import type { Runner } from './runner.ts'

/** An HTTP answer with its trailers. */
export interface Said {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly trailers: NodeJS.Dict<string>
  readonly text: string
}

/** What is sent. */
export interface Sending {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

/** One exchange over a real connection, read to its end. */
export function ask(url: string, { method = 'POST', headers = {}, body }: Sending): Promise<Said> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers, agent: false }, (incoming) => {
      const parts: Buffer[] = []
      incoming.on('data', (part: Buffer) => void parts.push(part))
      incoming.on('error', reject)
      incoming.on('end', () => {
        const { statusCode = 0, trailers } = incoming
        resolve({ status: statusCode, headers: incoming.headers, trailers, text: Buffer.concat(parts).toString() })
      })
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

/** A gateway's side of a runner: signs, registers and verifies. */
export interface Rig extends AsyncDisposable {
  readonly runner: Runner
  readonly capabilities: Capabilities
  /** A sealed context for a body; members given are put in place of the usual ones. */
  seal(body: string, over?: ContextOver): string
  /** Registers a policy. */
  put(policy: Policy): Promise<PolicyReport>
  /** Sends a chat under a policy, which is registered before, and gives back what came with its verified acknowledgement. */
  chat(policy: Policy, body: object, over?: CallOver): Promise<Acked>
}

/** What a test changes of a context. */
export type ContextOver = Partial<ExecutionContext> & { readonly by?: SigningKey; readonly sentAtMs?: number }

/** What a test changes of a call. */
export interface CallOver extends ContextOver {
  readonly path?: string
  /** Credential headers that travel. */
  readonly credentials?: Readonly<Record<string, string>>
}

/** An answer, and what its acknowledgement says. */
export interface Acked extends Said {
  readonly context: ExecutionContext
  readonly acknowledged: Acknowledged
}

/** The key that the rig signs with unless told otherwise. */
export const rigKey = secretKey('k1', 1)

const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined }

/** How a runner executes the test layers. */
export const executing: ExecutionOptions = { keys: [rigKey], layers: testLayers, log: quiet }

/** Starts an echo runner that executes the test layers. */
export async function startRig(options: Echo = {}): Promise<Rig> {
  return rigOf(await startEcho({ ...options, execution: { ...executing, ...options.execution } }))
}

/** The gateway's side of a runner that takes contexts of the rig's key. */
export async function rigOf(runner: Runner): Promise<Rig> {
  const capabilities = await capabilitiesOf(runner)
  const carrier = (): { iss: string; aud: string; now: number } => ({
    iss: 'g',
    aud: capabilities.boot,
    now: Date.now(),
  })
  const put = async (policy: Policy): Promise<PolicyReport> => {
    const url = `${runner.url}${wellKnown}/policies/${policyDigest(policy)}`
    const said = await ask(url, { method: 'PUT', body: sealPolicy(policy, carrier(), rigKey) })
    if (said.status !== 200) throw new Error(`${said.status} ${said.text}`)
    return JSON.parse(said.text) as PolicyReport
  }
  const seal = (body: string, over: ContextOver = {}): string =>
    sealed(contextOf(capabilities.boot, body, over), over.by)
  return {
    runner,
    capabilities,
    seal,
    put,
    async chat(policy, body, over = {}) {
      await put(policy)
      const text = JSON.stringify(body)
      const { path = '/v1/chat/completions', credentials, by, ...rest } = over
      const credential = credentials && textFromCredentials(credentials, Object.keys(credentials))
      const crd = credential ? { crd: credentialDigest(credential) } : {}
      const context = contextOf(capabilities.boot, text, { ...modesOf(policy), ...crd, ...rest })
      const headers = {
        'content-type': 'application/json',
        'x-execution-context': sealed(context, by),
        ...(credential ? { 'x-caller-credential': credential } : {}),
      }
      const said = await ask(runner.url + path, { headers, body: text })
      const versions = new Map(policy.steps.map(({ layer, version }) => [layer, version]))
      const asked = { context, key: acknowledgementKey(rigKey), versions }
      return { ...said, context, acknowledged: verifyAcknowledgement(headOf(said), asked) }
    },
    [Symbol.asyncDispose]: () => runner[Symbol.asyncDispose](),
  }
}

/** Where a runner's own documents are. */
export const wellKnown = '/.well-known/execution-context'

/** The first part of an acknowledgement. */
export const headOf = (said: Said): string => String(said.headers[acknowledgementHeaders.head])

/** A policy of the chat route, from steps by layer. */
export const policyOf = (steps: Readonly<Record<string, object>>, route: Policy['route'] = 'chat'): Policy => ({
  v: 1,
  route,
  steps: Object.entries(steps).map(([layer, step]) => ({ layer, version: 1, step: step as Record<string, unknown> })),
})

/** Every layer of a policy, deciding. */
export const modesOf = (policy: Policy): Pick<ExecutionContext, 'modes' | 'pol'> => ({
  pol: policyDigest(policy),
  modes: Object.fromEntries(policy.steps.map(({ layer }) => [layer, 'enforce' as const])),
})

/** A conversation of one message. */
export const saying = (content: string, more: object = {}): object => ({
  model: 'echo',
  messages: [{ role: 'user', content }],
  ...more,
})

/** The code of a context refusal, or the status of anything else. */
export const refusalOf = ({ status, text, headers }: Said): string =>
  headers['content-type']?.startsWith('application/problem+json')
    ? `${status} ${(JSON.parse(text) as { type: string }).type.replace('urn:foldgate:exec-ctx-', '')}`
    : String(status)

/** What a runner with these keys says it can do. */
export async function capabilitiesOf(runner: Runner): Promise<Capabilities> {
  return JSON.parse((await ask(runner.url + wellKnown, { method: 'GET' })).text) as Capabilities
}

/** A context of the rig. */
export function contextOf(aud: string, body: string, over: ContextOver): ExecutionContext {
  const { by: _, iat, exp, v, ...rest } = over
  const made = createContext({
    id: randomBytes(16).toString('hex'),
    attempt: 1,
    shadow: false,
    iss: 'g',
    aud,
    sentAtMs: Date.now(),
    now: Date.now(),
    pol: createHash('sha256').update('none').digest('hex'),
    bod: bodyDigest(Buffer.from(body)),
    modes: { count: 'enforce' },
    facts: { id: 'u1', tenant: 't1', tier: '' },
    ...rest,
  })
  return { ...made, ...(iat === undefined ? {} : { iat }), ...(exp === undefined ? {} : { exp }) }
}

/** A context as its header. */
export function sealed(context: ExecutionContext, by: SigningKey = rigKey): string {
  const made = sealContext(context, by)
  if (!made.ok) throw new Error(made.detail)
  return made.header
}
