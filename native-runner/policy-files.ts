import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { canonicalJson } from '../plugins/canonical.ts'
import { jsonFromText } from '../plugins/chat.ts'
import { type Policy, policyDigest, policyFault } from '../plugins/policy.ts'
import { maxCarrierBytes } from '../plugins/policy-carrier.ts'

/** A policy as it was found again. */
export interface FoundPolicy {
  readonly digest: string
  readonly policy: Policy
}

/** Policies on disk, one file each, named by its digest. What cannot be kept or read is not there: the gateway registers it again. */
export interface PolicyFiles {
  /** What is there, least recently kept first. A file that is not what its name says is removed. */
  all(): Promise<readonly FoundPolicy[]>
  keep(digest: string, policy: Policy): Promise<void>
  forget(digest: string): Promise<void>
}

const nameForm = /^([0-9a-f]{64})\.json$/

/** Keeps policies in a folder, which is made when the first comes; without a folder nothing is kept. */
export function createPolicyFiles(folder: string | undefined): PolicyFiles {
  if (folder === undefined) return { all: async () => [], keep: async () => undefined, forget: async () => undefined }
  const pathOf = (digest: string): string => join(folder, `${digest}.json`)
  const forget = (digest: string): Promise<void> => rm(pathOf(digest), { force: true }).catch(() => undefined)
  const read = async (digest: string): Promise<FoundPolicy[]> => {
    const policy = await policyFromFile(pathOf(digest), digest)
    if (policy) return [{ digest, policy }]
    await forget(digest)
    return []
  }
  return {
    async all() {
      const names = await readdir(folder).catch(() => [])
      const digests = names.flatMap((name) => nameForm.exec(name)?.[1] ?? [])
      const aged = await Promise.all(digests.map(async (digest) => ({ digest, at: await keptAt(pathOf(digest)) })))
      aged.sort((a, b) => a.at - b.at)
      return (await Promise.all(aged.map(({ digest }) => read(digest)))).flat()
    },
    async keep(digest, policy) {
      const part = join(folder, `${digest}.${randomUUID()}.part`)
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 })
        await writeFile(part, canonicalJson(policy), { mode: 0o600 })
        await rename(part, pathOf(digest))
      } catch {
        await rm(part, { force: true }).catch(() => undefined)
      }
    },
    forget,
  }
}

async function keptAt(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.mtimeMs ?? 0
}

async function policyFromFile(path: string, digest: string): Promise<Policy | undefined> {
  try {
    if ((await stat(path)).size > maxCarrierBytes) return undefined
    const value = jsonFromText(await readFile(path, 'utf8'))
    return policyFault(value) === undefined && policyDigest(value as Policy) === digest ? (value as Policy) : undefined
  } catch {
    return undefined
  }
}
