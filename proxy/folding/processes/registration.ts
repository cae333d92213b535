import { type GatewayError, gatewayError, gatewayErrorFrom } from '../../../plugins/errors.ts'
import { sealPolicy } from '../../../plugins/policy-carrier.ts'
import { type PolicyReport, reportFault } from '../../../plugins/policy-report.ts'
import type { FoldedPolicy } from '../policies.ts'
import { fallbackFromRefusal, type WhyNot, whyFromError } from './why-not.ts'
import { ask, jsonFromAnswer, type Wire } from './wire.ts'

/** The policies that one runner process has been given, and what became of them there. */
export interface Registrar {
  /**
   * Gives the runner a policy, once: whoever asks meanwhile waits for the same answer, and later askers get it at once. What failed is not
   * tried again for five seconds. Throws `runner_*`, or a `Fallback` for what the runner refused.
   */
  register(folded: FoldedPolicy): Promise<PolicyReport>
  /** Undefined until the runner has answered. */
  report(digest: string): PolicyReport | undefined
  /** Why the last try failed; undefined when it did not. */
  fault(digest: string): WhyNot | undefined
  /** The runner no longer knows this policy. */
  forget(digest: string): void
  /**
   * A handshake was made with a process, as it is now. Another one, or one that can do other things, has been given nothing yet; of the
   * same only what failed is forgotten.
   */
  begin(process: { readonly boot: string; readonly caps: string }): void
}

interface Entry {
  readonly answered: Promise<PolicyReport>
  report?: PolicyReport
  failed?: { readonly why: WhyNot; readonly at: number }
}

/** How long a compilation may take, in milliseconds. */
const timeoutMs = 30_000
const coolOffMs = 5_000

/** Makes a {@link Registrar}; `heard` is told of each answer, and of each failure without one. */
export function createRegistrar(wire: Wire, heard: (report: PolicyReport | undefined) => void): Registrar {
  let aud = ''
  let caps = ''
  let entries = new Map<string, Entry>()
  return {
    register(folded) {
      const known = entries.get(folded.digest)
      if (known && !(known.failed && wire.clock.now() - known.failed.at >= coolOffMs)) return known.answered
      const entry: Entry = { answered: put(wire, folded, aud) }
      entries.set(folded.digest, entry)
      entry.answered.then(
        (report) => {
          entry.report = report
          heard(report)
        },
        (reason: GatewayError) => {
          entry.failed = { why: whyFromError(gatewayErrorFrom(reason)), at: wire.clock.now() }
          heard(undefined)
        },
      )
      return entry.answered
    },
    report: (digest) => entries.get(digest)?.report,
    fault: (digest) => entries.get(digest)?.failed?.why,
    forget(digest) {
      // One that is being answered was asked after it was forgotten there.
      if (entries.get(digest)?.report) entries.delete(digest)
    },
    begin(process) {
      const same = process.boot === aud && process.caps === caps
      entries = new Map(same ? [...entries].filter(([, { failed }]) => !failed) : [])
      aud = process.boot
      caps = process.caps
    },
  }
}

async function put(wire: Wire, folded: FoldedPolicy, aud: string): Promise<PolicyReport> {
  const { digest, policy } = folded
  const answer = await ask(wire, {
    method: 'PUT',
    path: `/policies/${digest}`,
    headers: { 'content-type': 'application/jose' },
    body: sealPolicy(policy, { iss: wire.iss, aud, now: wire.clock.now() }, wire.key),
    signed: true,
    timeoutMs,
  })
  if (answer.refusal) throw fallbackFromRefusal(answer.refusal, 'a policy')
  if (answer.status < 200 || answer.status > 299)
    throw gatewayError('runner_protocol', `the runner answered ${answer.status} to a policy`)
  const report = jsonFromAnswer(answer)
  const fault = reportFault(report, { digest, policy })
  if (fault !== undefined) throw gatewayError('runner_protocol', `the runner's report on a policy is wrong: ${fault}`)
  return report as PolicyReport
}
