import type { Capabilities } from '../../../plugins/capabilities.ts'
import type { VerifyingKey } from '../../../plugins/jws-key.ts'
import type { PolicyReport } from '../../../plugins/policy-report.ts'
import type { Line } from '../../line.ts'
import { createContact } from './contact.ts'
import type { InstanceParts } from './instance-parts.ts'
import type { Shown } from './knowledge.ts'
import { startStandingProbes } from './standing.ts'
import type { WhyNot } from './why-not.ts'

/** One runner process, as the gateway knows it. */
export interface Instance {
  /** Its runner's name in the configuration. */
  readonly runner: string
  readonly line: Line
  /** What its acknowledgements are verified with; undefined where that key is not configured: no layer can act there then. */
  readonly ackKey: VerifyingKey | undefined
  /** Undefined until it was reached. */
  readonly capabilities: Capabilities | undefined
  /** The last handshake reached it. */
  readonly reachable: boolean
  /** Calls on their way there. */
  readonly underWay: number
  /** A call goes there; what is given back says, once, that it has ended. */
  begin(): () => void
  /** Why a layer of a policy cannot act there; undefined: it can. */
  whyNot(layer: string, digest: string): WhyNot | undefined
  /** What became of a policy there, `soft` findings among it; undefined while it is not registered. */
  report(digest: string): PolicyReport | undefined
  /** Registers a policy; one call to the runner, however many ask. Throws a `Fallback`, or `runner_*`. */
  register(digest: string): Promise<PolicyReport>
  /** What an answer showed. Another process, or other capabilities, than known: a handshake is made at once, in the background. */
  noticed(shown: Shown): void
  /** The runner refused a context because it does not know its policy or its audience: does again what is needed. Throws as `register`. */
  renew(digest: string): Promise<void>
  /** The runner refused a context for its key or its clock: it is greeted anew in the background, at most every five seconds. */
  doubted(): void
  /** Makes a handshake now, or waits for the one under way. Never rejects. */
  refresh(): Promise<void>
  /** The first handshake was tried. Never rejects. */
  readonly ready: Promise<void>
  /** Asks nothing any more. The line stays open. */
  close(): void
}

/** Begins to know the runner process at the other end of a line: the first handshake is made at once. A runner that is away is tried again. */
export function createInstance(line: Line, parts: InstanceParts): Instance {
  const contact = createContact(line, parts)
  const { knowledge, registrar } = contact
  const ready = contact.refresh()
  const standing = startStandingProbes(contact, parts)
  let underWay = 0
  return {
    runner: contact.runner,
    line,
    ackKey: contact.wire.ackKey,
    get capabilities() {
      return knowledge.capabilities
    },
    get reachable() {
      return knowledge.reached
    },
    get underWay() {
      return underWay
    },
    begin() {
      let ended = false
      underWay++
      return () => {
        if (!ended) underWay--
        ended = true
      }
    },
    whyNot: knowledge.whyNot,
    report: registrar.report,
    register: contact.register,
    noticed: contact.noticed,
    renew: contact.renew,
    doubted: contact.doubted,
    refresh: contact.refresh,
    ready,
    close() {
      contact.close()
      standing.close()
    },
  }
}
