import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

interface Owner {
  readonly pid: number
  readonly host: string
  readonly token: string
}

/** How a lock waits. */
export interface LockOptions {
  /** Between two looks at a lock that somebody else holds; default 250. */
  readonly pollMs?: number
  /** A lock not touched for so long belongs to nobody; default 60000. Holders touch theirs six times as often. */
  readonly staleMs?: number
  /** Told once when the lock has to be waited for. */
  readonly onWait?: (holder: string) => void
}

async function ownerOf(folder: string): Promise<Owner | undefined> {
  try {
    return JSON.parse(await readFile(join(folder, 'owner.json'), 'utf8')) as Owner
  } catch {
    return undefined
  }
}

async function ageOf(folder: string): Promise<number> {
  const { mtimeMs } = await stat(folder).catch(() => ({ mtimeMs: Number.NaN }))
  return Date.now() - mtimeMs
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** Whether nobody can be holding a lock: its process is gone, or it was not touched for too long. */
async function isStale(folder: string, staleMs: number): Promise<boolean> {
  if ((await ageOf(folder)) > staleMs) return true
  const owner = await ownerOf(folder)
  return owner !== undefined && owner.host === hostname() && !isAlive(owner.pid)
}

async function made(folder: string): Promise<boolean> {
  try {
    await mkdir(folder)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}

/** Removes a stale lock; a second lock around it keeps two that saw it stale from removing a new one. */
async function removeStale(folder: string, staleMs: number): Promise<void> {
  const guard = `${folder}.removing`
  if (!(await made(guard))) {
    if ((await ageOf(guard)) > staleMs) await rm(guard, { recursive: true, force: true })
    return
  }
  try {
    if (await isStale(folder, staleMs)) await rm(folder, { recursive: true, force: true })
  } finally {
    await rm(guard, { recursive: true, force: true })
  }
}

async function acquire(folder: string, options: LockOptions): Promise<Owner> {
  const { pollMs = 250, staleMs = 60_000, onWait } = options
  const owner = { pid: process.pid, host: hostname(), token: randomUUID() }
  await mkdir(dirname(folder), { recursive: true })
  let told = false
  while (!(await made(folder))) {
    if (await isStale(folder, staleMs)) {
      await removeStale(folder, staleMs)
      continue
    }
    if (!told) onWait?.(`process ${(await ownerOf(folder))?.pid ?? 'unknown'}`)
    told = true
    await sleep(pollMs)
  }
  await writeFile(join(folder, 'owner.json'), JSON.stringify(owner))
  return owner
}

/**
 * Does some work while holding a lock folder, so that processes started together do it one after another. A lock whose
 * process died is taken over. Throws what the work throws.
 */
export async function withLock<T>(folder: string, work: () => Promise<T>, options: LockOptions = {}): Promise<T> {
  const owner = await acquire(folder, options)
  const touch = setInterval(
    () => {
      const now = new Date()
      utimes(folder, now, now).catch(() => undefined)
    },
    (options.staleMs ?? 60_000) / 6,
  )
  try {
    return await work()
  } finally {
    clearInterval(touch)
    if ((await ownerOf(folder))?.token === owner.token) await rm(folder, { recursive: true, force: true })
  }
}
