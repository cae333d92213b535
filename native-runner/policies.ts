import { canonicalJson } from '../plugins/canonical.ts'
import type { KnownPolicy } from '../plugins/execution-context-open.ts'
import type { Policy } from '../plugins/policy.ts'
import { knownPolicyFrom, type PolicyReport } from '../plugins/policy-report.ts'
import { type CompiledSide, type CompileParts, compileSide } from './policy-compile.ts'
import type { PolicyFiles } from './policy-files.ts'
import type { RunnerSide } from './seat.ts'

/** A policy that is compiled here. */
export interface CompiledPolicy extends KnownPolicy {
  readonly policy: Policy
  readonly report: PolicyReport
  /** What acts on one side; the copy's half is made when the first copy comes. */
  side(side: RunnerSide): Promise<CompiledSide>
  /** A call begins under it; what is given back ends that, once. Nothing is closed under a call. */
  use(): () => void
}

/** The policies of this instance: bounded in count and bytes, the one not used for longest goes. */
export interface Policies {
  /** One that is registered, which counts as a use. */
  get(digest: string): CompiledPolicy | undefined
  /** Compiles a policy that nobody registered yet, once however many ask. */
  register(digest: string, policy: Policy): Promise<PolicyReport>
  /** Compiles what was kept on disk. */
  restore(): Promise<void>
  close(): Promise<void>
}

/** What {@link createPolicies} needs. */
export interface PoliciesParts extends CompileParts {
  readonly files: PolicyFiles
  readonly maxPolicies: number
  readonly maxBytes: number
  /** Hears what became of each policy that was compiled. */
  readonly onCompiled: (report: PolicyReport) => void
}

interface Entry extends CompiledPolicy {
  readonly bytes: number
  retire(): Promise<void>
}

/** Makes {@link Policies}. */
export function createPolicies(parts: PoliciesParts): Policies {
  const entries = new Map<string, Entry>()
  const compiling = new Map<string, Promise<Entry>>()
  const forget = async (digest: string, entry: Entry): Promise<void> => {
    entries.delete(digest)
    await Promise.all([parts.files.forget(digest), entry.retire()])
  }
  const shrink = (): void => {
    let bytes = 0
    for (const entry of entries.values()) bytes += entry.bytes
    for (const [digest, entry] of entries) {
      if (entries.size === 1 || (entries.size <= parts.maxPolicies && bytes <= parts.maxBytes)) return
      bytes -= entry.bytes
      void forget(digest, entry)
    }
  }
  const compiled = async (digest: string, policy: Policy, keeps: boolean): Promise<Entry> => {
    const entry = await compilePolicy(digest, policy, parts)
    if (keeps) await parts.files.keep(digest, policy)
    entries.set(digest, entry)
    parts.onCompiled(entry.report)
    shrink()
    return entry
  }
  const once = (digest: string, policy: Policy, keeps: boolean): Promise<Entry> => {
    const under = compiling.get(digest) ?? compiled(digest, policy, keeps).finally(() => compiling.delete(digest))
    compiling.set(digest, under)
    return under
  }
  const get = (digest: string): Entry | undefined => {
    const entry = entries.get(digest)
    if (!entry) return undefined
    entries.delete(digest)
    entries.set(digest, entry)
    return entry
  }
  return {
    get,
    async register(digest, policy) {
      const { report } = get(digest) ?? (await once(digest, policy, true))
      return report
    },
    async restore() {
      const found = await parts.files.all()
      const most = Math.max(0, found.length - parts.maxPolicies)
      for (const { digest } of found.slice(0, most)) await parts.files.forget(digest)
      for (const { digest, policy } of found.slice(most)) if (!entries.has(digest)) await once(digest, policy, false)
    },
    async close() {
      await Promise.allSettled(compiling.values())
      const all = [...entries.values()]
      entries.clear()
      await Promise.all(all.map((entry) => entry.retire()))
    },
  }
}

async function compilePolicy(digest: string, policy: Policy, parts: PoliciesParts): Promise<Entry> {
  const own = await compileSide(policy, 'runner', parts)
  const report = { pol: digest, layers: own.report }
  let copy: Promise<CompiledSide> | undefined
  const side = (which: RunnerSide): Promise<CompiledSide> => {
    if (which === 'runner') return ownSide
    copy ??= compileSide(policy, 'copy', parts)
    return copy
  }
  const ownSide = Promise.resolve(own)
  const users = createUsers(async () => {
    await Promise.all([own.close(), copy?.then((made) => made.close())])
  })
  return {
    ...knownPolicyFrom(policy, report),
    policy,
    report,
    side,
    bytes: Buffer.byteLength(canonicalJson(policy)),
    ...users,
  }
}

/** Closes something once nobody uses it any more. */
function createUsers(close: () => Promise<void>): Pick<Entry, 'use' | 'retire'> {
  let users = 0
  let retired: PromiseWithResolvers<void> | undefined
  const settle = (): void => {
    if (users === 0 && retired) close().then(retired.resolve, retired.reject)
  }
  return {
    use() {
      users += 1
      let left = false
      return () => {
        if (left) return
        left = true
        users -= 1
        settle()
      }
    },
    retire() {
      if (retired) return retired.promise
      retired = Promise.withResolvers<void>()
      settle()
      return retired.promise
    },
  }
}
