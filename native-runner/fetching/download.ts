import { createWriteStream } from 'node:fs'
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { refusal } from '../refusal.ts'
import { createProgress } from './progress.ts'

/** A file to fetch. */
export interface Download {
  readonly url: string
  readonly target: string
  /** Shown with the progress. */
  readonly label: string
  /** Sent to the first host only. */
  readonly token?: string
  /** How often a broken transfer is taken up again; default 5. */
  readonly retries?: number
  /** First pause before it is, in milliseconds, doubled each time; default 1000. */
  readonly retryDelayMs?: number
}

async function sizeOf(file: string): Promise<number> {
  return (await stat(file).catch(() => undefined))?.size ?? 0
}

function totalFrom(response: Response, have: number): number | undefined {
  const range = /\/(\d+)$/.exec(response.headers.get('content-range') ?? '')?.[1]
  if (range !== undefined) return Number(range)
  const length = response.headers.get('content-length')
  return length === null ? undefined : have + Number(length)
}

/** One attempt: goes on where the part file ends, if it is still of the same version. `true`: the file is whole. */
async function attempt(download: Download, part: string): Promise<boolean> {
  const tag = await readFile(`${part}.etag`, 'utf8').catch(() => '')
  const have = tag === '' ? 0 : await sizeOf(part)
  const headers: Record<string, string> = have > 0 ? { range: `bytes=${have}-`, 'if-range': tag } : {}
  if (download.token !== undefined) headers['authorization'] = `Bearer ${download.token}`
  const response = await fetch(download.url, { headers: { ...headers, 'accept-encoding': 'identity' } })
  if (response.status >= 400 && response.status < 500 && response.status !== 408 && response.status !== 429) {
    await rm(part, { force: true })
    throw refusal('model_unavailable', `${download.url} answered ${response.status}`)
  }
  if (!response.ok || !response.body) return false
  const goesOn = response.status === 206
  const from = goesOn ? have : 0
  const total = totalFrom(response, from)
  await writeFile(`${part}.etag`, response.headers.get('etag') ?? '')
  const progress = createProgress(download.label, total)
  let bytes = from
  const count = new Transform({
    transform(piece: Buffer, _encoding, done) {
      bytes += piece.length
      progress.at(bytes)
      done(null, piece)
    },
  })
  await pipeline(Readable.fromWeb(response.body), count, createWriteStream(part, { flags: goesOn ? 'a' : 'w' }))
  progress.done()
  return total === undefined || bytes === total
}

/** Fetches a file; broken transfers go on where they broke. Throws `model_unavailable` when it cannot be had. */
export async function downloadFile(download: Download): Promise<void> {
  const part = `${download.target}.part`
  let cause: unknown
  for (let tries = 0; tries <= (download.retries ?? 5); tries++) {
    if (tries > 0) await sleep(Math.min(30_000, (download.retryDelayMs ?? 1000) * 2 ** (tries - 1)))
    try {
      if (!(await attempt(download, part))) continue
      await rename(part, download.target)
      await rm(`${part}.etag`, { force: true })
      return
    } catch (error) {
      if (error instanceof Error && error.name === 'Refusal') throw error
      cause = error
    }
  }
  throw refusal('model_unavailable', `${download.url} cannot be fetched`, { cause })
}
