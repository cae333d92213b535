import { open, stat } from 'node:fs/promises'

/** What is looked for, and who hears of it. */
export interface PanicFileOptions {
  readonly path: string
  /** Between two looks, in milliseconds; default 1,000. */
  readonly everyMs?: number
  /** The file is there; `reason` is its first line, or says that it is there. Told once until it is gone. */
  appeared(reason: string): void
  /** It is gone again. */
  gone(): void
  /** It cannot be told whether it is there, such as for want of rights: what was known still holds. Told once until it can. */
  blind?(words: string): void
}

/** A watch over a panic file. */
export interface PanicFileWatch {
  /** Resolves after the first look: wait for it before taking calls. */
  readonly looked: Promise<void>
  /** Whether the file was there at the last look. */
  readonly there: boolean
  close(): void
}

const longestReason = 200

/**
 * Watches by looking, since notices of file systems get lost on network mounts and on the swapped links of a ConfigMap. Links are
 * followed; anything that is there counts, whatever it is, and only a plain file is read. Keeps no process alive.
 */
export function watchPanicFile(options: PanicFileOptions): PanicFileWatch {
  const { path, everyMs = 1_000 } = options
  let closed = false
  let there = false
  let blind = false
  let timer: NodeJS.Timeout | undefined
  const look = async (): Promise<void> => {
    const seen = await peek(path)
    if (closed) return
    if (seen.blind !== undefined && !blind) options.blind?.(seen.blind)
    blind = seen.blind !== undefined
    if (!blind && seen.there !== there) {
      there = seen.there
      if (there) options.appeared(seen.reason)
      else options.gone()
    }
    timer = setTimeout(() => void look(), everyMs).unref()
  }
  return {
    looked: look(),
    get there() {
      return there
    },
    close() {
      closed = true
      clearTimeout(timer)
    },
  }
}

interface Seen {
  readonly there: boolean
  readonly reason: string
  readonly blind?: string
}

async function peek(path: string): Promise<Seen> {
  try {
    const found = await stat(path)
    return { there: true, reason: (found.isFile() && (await firstLine(path))) || `${path} is there` }
  } catch (reason) {
    const { code = 'unknown' } = reason as NodeJS.ErrnoException
    const absent = code === 'ENOENT' || code === 'ENOTDIR'
    return { there: false, reason: '', ...(absent ? {} : { blind: `${path} cannot be looked at: ${code}` }) }
  }
}

/** What can be shown of the first line; empty where it cannot be read, for the file counts by being there. */
async function firstLine(path: string): Promise<string> {
  try {
    await using file = await open(path, 'r')
    const { buffer, bytesRead } = await file.read(Buffer.alloc(1_024), 0, 1_024, 0)
    const [line = ''] = buffer.toString('utf8', 0, bytesRead).split(/\r?\n/)
    return line
      .replace(/[\p{Cc}\p{Cf}\uFFFD]/gu, '')
      .trim()
      .slice(0, longestReason)
  } catch {
    return ''
  }
}
