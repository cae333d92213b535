import {
  type Acknowledgement,
  type AcknowledgementPart,
  acknowledgementHeaders,
  type LayerMember,
  maxAcknowledgementBytes,
} from './acknowledgement.ts'
import { acknowledgementFromText } from './acknowledgement-read.ts'
import { textFromAcknowledgement } from './acknowledgement-text.ts'
import type { ExecutionContext } from './execution-context.ts'
import { replayIdentity } from './execution-context-open.ts'
import { createSigningKey, type SigningKey, type VerifyingKey } from './jws-key.ts'

/** What of a context an acknowledgement is held against; the context itself will do. */
export type AskedContext = Pick<ExecutionContext, 'id' | 'attempt' | 'shadow' | 'aud' | 'pol' | 'modes'>

/** What a runner must acknowledge, and who it must be. */
export interface Asked {
  readonly context: AskedContext
  /** {@link acknowledgementKey} of the context's key, or the public half of the runner's own. */
  readonly key: VerifyingKey
  /** The versions of the policy's steps, by layer. */
  readonly versions: ReadonlyMap<string, number>
}

/** Why an acknowledgement is none, first found first. All of them are the runner's doing, and mean `not-acknowledged`. */
export type AcknowledgementMismatch =
  | 'absent'
  | 'too-large'
  | 'form'
  | 'call'
  | 'policy'
  | 'boot'
  | 'mac'
  | 'layer-unasked'
  | 'layer-missing'
  | 'mode'
  | 'version'

/** What the runner did, from somebody who holds the key and for this very call; or why that is not shown. */
export type Acknowledged =
  | { readonly ok: true; readonly acknowledgement: Acknowledgement }
  | { readonly ok: false; readonly mismatch: AcknowledgementMismatch; readonly layer?: string }

/**
 * The key of the acknowledgements that belong to contexts under an HS256 key, derived from its secret (HKDF-SHA-256, RFC 5869, salt
 * `foldgate`, info `x-layer-ack`). Throws `config_invalid` for an EdDSA key: the runner then signs with an Ed25519 key of its own.
 */
export function acknowledgementKey(key: VerifyingKey): SigningKey {
  return createSigningKey({ kid: key.kid, alg: 'HS256', secret: key.derive(acknowledgementHeaders.head) })
}

/** An acknowledgement as the value of its header or trailer. */
export function sealAcknowledgement(
  acknowledgement: Acknowledgement,
  context: AskedContext,
  sealing: { readonly part: AcknowledgementPart; readonly key: SigningKey },
): string {
  const { before, after } = textFromAcknowledgement(acknowledgement)
  const mac = sealing.key.sign(macInput(sealing.part, context, before + after), 'base64')
  return `${before};mac=:${mac}:${after}`
}

/**
 * Holds the value of `x-layer-ack` against what was asked: call, policy, instance and mac; every named layer there with its mode and
 * version, except those that an enforcing layer further out kept the call from; and no other.
 */
export function verifyAcknowledgement(text: string | undefined, asked: Asked): Acknowledged {
  const read = authentic(text, asked, 'head')
  if (!read.ok) return read
  const { layers } = read.acknowledgement
  const missing = missingLayer(layers, asked.context)
  if (missing !== undefined) return mismatch('layer-missing', missing)
  for (const [layer, { v, m }] of Object.entries(layers)) {
    if (m !== asked.context.modes[layer]) return mismatch('mode', layer)
    if (v !== asked.versions.get(layer)) return mismatch('version', layer)
  }
  return read
}

/** Holds the value of `x-layer-ack-end` against what was asked: the layers that were `armed` when the stream began must say how it ended. */
export function verifyAcknowledgementEnd(text: string | undefined, asked: Asked, head: Acknowledgement): Acknowledged {
  const read = authentic(text, asked, 'end')
  if (!read.ok) return read
  const { layers } = read.acknowledgement
  for (const [layer, { o, m, v }] of Object.entries(head.layers)) {
    const final = Object.hasOwn(layers, layer) ? layers[layer] : undefined
    if (o === 'armed' && final?.o !== 'ok' && final?.o !== 'failed') return mismatch('layer-missing', layer)
    if (final?.m !== undefined && final.m !== m) return mismatch('mode', layer)
    if (final?.v !== undefined && final.v !== v) return mismatch('version', layer)
  }
  return read
}

/** The part, if it is canonical, belongs to this send of the call, bears the right mac and names only layers that were named. */
function authentic(text: string | undefined, asked: Asked, part: AcknowledgementPart): Acknowledged {
  const { context } = asked
  if (!text) return mismatch('absent')
  if (text.length > maxAcknowledgementBytes) return mismatch('too-large')
  const read = acknowledgementFromText(text)
  if (!read) return mismatch('form')
  const { runner, layers } = read.acknowledgement
  if (runner.id !== context.id) return mismatch('call')
  if (runner.pol !== context.pol && (part === 'head' || runner.pol !== undefined)) return mismatch('policy')
  if (runner.boot !== context.aud && (part === 'head' || runner.boot !== undefined)) return mismatch('boot')
  if (!asked.key.verify(macInput(part, context, read.covered), read.mac)) return mismatch('mac')
  const strange = Object.keys(layers).find((layer) => !Object.hasOwn(context.modes, layer))
  return strange === undefined
    ? { ok: true, acknowledgement: read.acknowledgement }
    : mismatch('layer-unasked', strange)
}

/** The send and the policy stand before the text, so that neither another call's acknowledgement nor another part's will do. */
function macInput(part: AcknowledgementPart, context: AskedContext, covered: string): string {
  return `${acknowledgementHeaders[part]}\n${replayIdentity(context)}\n${context.pol}\n${covered}`
}

function missingLayer(layers: Readonly<Record<string, LayerMember>>, { modes }: AskedContext): string | undefined {
  for (const layer of Object.keys(modes)) {
    const member = Object.hasOwn(layers, layer) ? layers[layer] : undefined
    if (member?.o === undefined) return layer
    if (member.m === 'enforce' && (member.o === 'answer' || member.o === 'refuse')) return undefined
  }
  return undefined
}

function mismatch(kind: AcknowledgementMismatch, layer?: string): Acknowledged {
  return { ok: false, mismatch: kind, ...(layer === undefined ? {} : { layer }) }
}
