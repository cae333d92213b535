import { isLoopback } from '../../../config/loopback.ts'
import type { Capabilities } from '../../../plugins/capabilities.ts'
import type { Layer } from '../../../plugins/layer.ts'
import type { WhyNot } from './why-not.ts'
import type { Wire } from './wire.ts'

/** The version of the protocol that this gateway speaks. */
const protocolVersion = 1

/** Why no layer at all can act at a runner that says this of itself; undefined when some may. */
export function runnerFault(capabilities: Capabilities, { key, ackKey }: Wire): WhyNot | undefined {
  const { versions, keys } = capabilities
  if (!versions.includes(protocolVersion)) {
    const words = `the runner speaks versions ${versions.join(', ')} of the protocol, this gateway ${protocolVersion}`
    return { reason: 'unsupported-version', words }
  }
  if (!keys.includes(key.kid)) {
    const known = keys.length === 0 ? 'no key at all' : keys.join(', ')
    const words = `the runner does not know the signing key ${key.kid}; it knows ${known}`
    return { reason: 'signature', words }
  }
  if (ackKey) return undefined
  return { reason: 'not-acknowledged', words: 'the runner has no ackKeyFile, which EdDSA contexts need' }
}

/** Why one layer cannot act at a runner that says this of itself; undefined when it may. */
export function layerFault(layer: Layer, capabilities: Capabilities, { line }: Wire): WhyNot | undefined {
  const { name, native } = layer
  const there = Object.hasOwn(capabilities.layers, name) ? capabilities.layers[name] : undefined
  if (!native) return { reason: 'unsupported-layer', words: `${name} has no half that a runner executes` }
  if (!there) return { reason: 'unsupported-layer', words: `the runner does not execute ${name}` }
  if (there.version !== native.version) {
    const words = `the runner executes version ${there.version} of ${name}, this gateway folds version ${native.version}`
    return { reason: 'unsupported-version', words }
  }
  if (native.credentials && !isPrivate(line)) {
    const words = `${name} verifies a credential, which travels to a runner over loopback or TLS only`
    return { reason: 'unsupported-layer', words }
  }
  return undefined
}

/** Nobody but the two ends reads what goes over it. */
function isPrivate({ settings, peer, address }: Wire['line']): boolean {
  return settings.url.startsWith('https:') || isLoopback(peer ?? address)
}
