import { randomBytes } from 'node:crypto'
import { type Acknowledgement, acknowledgementHeaders } from '../../plugins/acknowledgement.ts'
import { verifyAcknowledgement, verifyAcknowledgementEnd } from '../../plugins/acknowledgement-verify.ts'
import { credentialHeader } from '../../plugins/caller-credential.ts'
import { type Capabilities, capabilitiesFault, capabilitiesSchema } from '../../plugins/capabilities.ts'
import { bodyDigest, createContext, credentialDigest, type ExecutionContext } from '../../plugins/execution-context.ts'
import { signJws } from '../../plugins/jws.ts'
import type { SigningKey, VerifyingKey } from '../../plugins/jws-key.ts'
import type { Layer, Mode } from '../../plugins/layer.ts'
import { type Policy, policyDigest } from '../../plugins/policy.ts'
import { sealPolicy } from '../../plugins/policy-carrier.ts'
import { type PolicyReport, reportFault } from '../../plugins/policy-report.ts'
import { createSchema } from '../../plugins/schema.ts'
import { exchange, inWords, jsonOf, type Said, type Sending } from './exchange.ts'
import { needed, Wanting } from './finding.ts'
import { foldingLayers, sampleStep } from './samples.ts'

/** Where a runner's own documents are. */
export const wellKnown = '/.well-known/execution-context'
/** Where calls go, and where decisions are asked. */
export const paths = { chat: '/v1/chat/completions', decide: `${wellKnown}/decide` } as const
/** The header that a context travels in. */
export const contextHeader = 'x-execution-context'

/** How a runner is reached, and with which keys. */
export interface SubjectOptions {
  readonly url: string
  readonly key: SigningKey
  /** Verifies its acknowledgements. */
  readonly ackKey: VerifyingKey
  readonly apiKey?: string
  readonly model?: string
}

/** A call under a context. */
export interface Calling {
  readonly path?: string
  readonly policy: Policy
  readonly mode?: Mode
  readonly body: object
  readonly over?: Partial<ExecutionContext>
  readonly credential?: string
  readonly words?: string
}

/** An answer whose acknowledgement holds, with all that it says. */
export interface Acked extends Said {
  readonly context: ExecutionContext
  readonly acknowledgement: Acknowledgement
  /** The final part of a stream's. */
  readonly end?: Acknowledgement
}

/** A runner under test, with a gateway's side of the protocol. */
export interface Subject extends SubjectOptions {
  /** The answer to the question what it can do, as it came when the run began. */
  readonly said: Said
  /** The document, where it can be used. */
  readonly capabilities: Capabilities
  /** The layers that it offers in the version that is known here, outermost first. */
  readonly layers: readonly Layer[]
  ask(path: string, sending: Sending): Promise<Said>
  /** Who sends, to whom, now. */
  carrier(): { iss: string; aud: string; now: number }
  put(policy: Policy): Promise<Said>
  /** Registers a policy. Throws {@link Wanting} unless it is taken and each step reported. */
  register(policy: Policy): Promise<PolicyReport>
  /** A policy under which a plain question passes, of the layers named, by default all that it offers. */
  policy(names?: readonly string[]): Policy
  context(body: string, over: Partial<ExecutionContext>): ExecutionContext
  /** Signs whatever it is given. */
  seal(payload: object): string
  /** Sends a call as it is. */
  send(calling: Calling): Promise<Said & { readonly context: ExecutionContext }>
  /** Sends a call whose acknowledgement must hold; the policy is registered before. */
  acked(calling: Calling): Promise<Acked>
}

const outline = createSchema<Capabilities>(capabilitiesSchema)

/** Asks a runner what it can do. Throws {@link NoAnswer}. */
export async function createSubject(options: SubjectOptions): Promise<Subject> {
  const said = await exchange(options.url, wellKnown, { method: 'GET' })
  const document = jsonOf(said)
  const known = outline.faults(document).length === 0 ? (document as Capabilities) : undefined
  const layers = foldingLayers.filter(({ name, native }) => known?.layers[name]?.version === native?.version)
  const model = options.model ?? known?.models[0]?.id
  const ground = { ...options, ...(model === undefined ? {} : { model }) }
  const calls = callsOf(ground, () => needed(known, 'the document of capabilities cannot be used'), layers)
  return {
    ...ground,
    said,
    get capabilities() {
      return needed(known, 'the document of capabilities cannot be used')
    },
    layers,
    ask: (path, sending) => exchange(options.url, path, sending),
    ...calls,
  }
}

/** What is wrong with the document of capabilities, in words; undefined when nothing is. */
export const documentFault = (said: Said): string | undefined => capabilitiesFault(jsonOf(said))

type Calls = Pick<Subject, 'carrier' | 'put' | 'register' | 'policy' | 'context' | 'seal' | 'send' | 'acked'>

function callsOf(options: SubjectOptions, known: () => Capabilities, layers: readonly Layer[]): Calls {
  const { url, key } = options
  const carrier = () => ({ iss: 'conformance', aud: known().boot, now: Date.now() })
  const put = (policy: Policy): Promise<Said> =>
    exchange(url, `${wellKnown}/policies/${policyDigest(policy)}`, {
      method: 'PUT',
      body: sealPolicy(policy, carrier(), key),
      headers: { 'content-type': 'application/jose' },
    })
  const register = async (policy: Policy): Promise<PolicyReport> => {
    const said = await put(policy)
    const fault =
      said.status === 200 ? reportFault(jsonOf(said), { digest: policyDigest(policy), policy }) : 'it is refused'
    if (fault === undefined) return jsonOf(said) as PolicyReport
    const must = `a policy that is well signed is answered 200 with a report on each of its steps: ${fault}`
    throw new Wanting({ asked: said.asked, came: inWords(said), must })
  }
  const context: Calls['context'] = (body, over) => {
    const bod = bodyDigest(Buffer.from(body))
    const { iat, exp, v: _, ...rest } = over
    const made = createContext({ ...blank(), ...carrier(), sentAtMs: Date.now(), bod, ...rest })
    return { ...made, ...(iat === undefined ? {} : { iat }), ...(exp === undefined ? {} : { exp }) }
  }
  const seal = (payload: object): string => signJws(JSON.stringify(payload), key, 'exec-ctx+jws')
  const send: Calls['send'] = async (calling) => {
    const { path = paths.chat, policy, mode = 'enforce', over = {}, credential, words } = calling
    const body = JSON.stringify(calling.body)
    const modes = Object.fromEntries(policy.steps.map(({ layer }) => [layer, mode]))
    const crd = credential === undefined ? {} : { crd: credentialDigest(credential) }
    const made = context(body, { pol: policyDigest(policy), modes, ...crd, ...over })
    const headers = {
      'content-type': 'application/json',
      [contextHeader]: seal(made),
      ...(credential === undefined ? {} : { [credentialHeader]: credential }),
    }
    return { ...(await exchange(url, path, { headers, body, ...(words ? { words } : {}) })), context: made }
  }
  const acked: Calls['acked'] = async (calling) => {
    await register(calling.policy)
    const said = await send(calling)
    const versions = new Map(calling.policy.steps.map(({ layer, version }) => [layer, version]))
    return verified(said, { context: said.context, key: options.ackKey, versions })
  }
  const policy: Calls['policy'] = (names) => policyOf(options, layers, names)
  return { carrier, put, register, policy, context, seal, send, acked }
}

function policyOf({ model }: SubjectOptions, layers: readonly Layer[], names?: readonly string[]): Policy {
  const steps = layers.flatMap((layer) => {
    const step = names?.includes(layer.name) === false ? undefined : sampleStep(layer, model)
    return step ? [{ layer: layer.name, version: layer.native?.version ?? 1, step }] : []
  })
  needed(steps[0], `the runner offers none of the layers ${names?.join(', ') ?? 'that are known here'}`)
  return { v: 1, route: 'chat', steps }
}

function blank() {
  const facts = { client_ip: '192.0.2.1', id: 'conformance', tenant: 'conformance', tier: '', method: 'api-key' }
  const id = randomBytes(16).toString('hex')
  return { id, attempt: 1, shadow: false, pol: 'f'.repeat(64), modes: {}, facts } as const
}

function verified(
  said: Said & { readonly context: ExecutionContext },
  asked: Parameters<typeof verifyAcknowledgement>[1],
): Acked {
  const head = said.headers[acknowledgementHeaders.head] as string | undefined
  const result = verifyAcknowledgement(head, asked)
  if (!result.ok) throw notAcknowledged(said, { part: acknowledgementHeaders.head, text: head, result })
  const { acknowledgement } = result
  if (!said.headers['content-type']?.startsWith('text/event-stream')) return { ...said, acknowledgement }
  const tail = said.trailers[acknowledgementHeaders.end]
  const end = verifyAcknowledgementEnd(tail, asked, acknowledgement)
  if (!end.ok) throw notAcknowledged(said, { part: acknowledgementHeaders.end, text: tail, result: end })
  return { ...said, acknowledgement, end: end.acknowledgement }
}

interface Mismatched {
  readonly part: string
  readonly text: string | undefined
  readonly result: { readonly mismatch: string; readonly layer?: string }
}

function notAcknowledged(said: Said, { part, text, result }: Mismatched): Wanting {
  const { mismatch, layer } = result
  const came = text === undefined ? `no ${part}; ${inWords(said)}` : `${part}: ${text}`
  const at = layer === undefined ? '' : `: ${layer}`
  const rule = text === undefined ? `the answer bears ${part}` : (acknowledgementRules[mismatch] ?? mismatch)
  return new Wanting({ asked: said.asked, came, must: rule + at })
}

const acknowledgementRules: Readonly<Record<string, string>> = {
  'too-large': 'an acknowledgement has at most 12288 bytes',
  form: 'an acknowledgement is a canonical dictionary (RFC 9651) of known members, with a mac',
  call: 'an acknowledgement bears the id of its own call',
  policy: 'an acknowledgement bears the digest of the policy that the context names',
  boot: 'an acknowledgement bears the boot id that the context is for',
  mac: 'the mac is over part, call, attempt, policy and text, under the key that belongs to the context',
  'layer-unasked': 'an acknowledgement has no layer that the context did not name',
  'layer-missing': 'every named layer has its member with an outcome; an armed one says at the end how it ended',
  mode: 'a layer’s member has the mode that the context gave it',
  version: 'a layer’s member has the version of its step',
}
