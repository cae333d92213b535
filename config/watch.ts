import { type FSWatcher, realpathSync, statSync, watch } from 'node:fs'
import { dirname } from 'node:path'
import { fingerprintFiles } from './fingerprint.ts'

/** What is watched, and how patiently. */
export interface WatchOptions {
  /** The files, as absolute paths; asked again after every change, so that the list may change with the configuration. */
  readonly files: () => readonly string[]
  /**
   * Called when the content of a file has changed and been still for a while; never while a call of it is under way. Says by itself
   * what went wrong: a rejection ends here.
   */
  readonly changed: () => Promise<unknown>
  /** The fingerprint of the files when they were last read; what changed since then is a change. Default: as they are now. */
  readonly since?: string
  /** How long files must have been still, in milliseconds; default 200. */
  readonly quietMs?: number
  /** How long a stream of changes can put `changed` off, in milliseconds; default 2000. */
  readonly maxWaitMs?: number
  /** How often contents are compared where the file system tells nothing, in milliseconds; default 10000. */
  readonly pollMs?: number
}

/** A watch that goes on until it is closed. */
export interface FileWatch {
  close(): void
}

/**
 * Watches files by content. Directories are watched rather than files, so that a rename over a file, a Kubernetes ConfigMap's swap of
 * its `..data` link and an editor's save are all seen. A file that is away for a moment is waited for, up to `maxWaitMs`.
 */
export function watchFiles(options: WatchOptions): FileWatch {
  const { files, changed, since, quietMs = 200, maxWaitMs = 2_000, pollMs = 10_000 } = options
  let known = since ?? fingerprintFiles(files()).digest
  let firstAt: number | undefined
  let timer: NodeJS.Timeout | undefined
  let closed = false
  let busy = false

  const noticed = (): void => {
    if (closed) return
    const now = performance.now()
    firstAt ??= now
    clearTimeout(timer)
    timer = setTimeout(look, Math.max(0, Math.min(quietMs, firstAt + maxWaitMs - now)))
  }
  const look = async (): Promise<void> => {
    if (closed || busy) return
    const seen = fingerprintFiles(files())
    const waited = performance.now() - (firstAt ?? performance.now())
    if (seen.missing && seen.digest !== known && waited < maxWaitMs) return noticed()
    firstAt = undefined
    directories.follow(files())
    if (seen.digest === known) return
    known = seen.digest
    busy = true
    await changed().catch(() => undefined)
    busy = false
    if (closed) return
    directories.follow(files())
    noticed()
  }
  const directories = createDirectoryWatch(noticed)
  directories.follow(files())
  if (since !== undefined) noticed()
  const poll = setInterval(noticed, pollMs).unref()
  return {
    close() {
      closed = true
      clearTimeout(timer)
      clearInterval(poll)
      directories.follow([])
    },
  }
}

interface DirectoryWatch {
  /** Watches the directories of these files, and of what they link to, and no others. */
  follow(files: readonly string[]): void
}

function createDirectoryWatch(noticed: () => void): DirectoryWatch {
  const watching = new Map<string, { readonly watcher: FSWatcher; readonly inode: number }>()
  const drop = (directory: string) => {
    watching.get(directory)?.watcher.close()
    watching.delete(directory)
  }
  const add = (directory: string) => {
    try {
      const watcher = watch(directory, { persistent: false }, noticed)
      // A directory that went away or a limit that was reached: comparing contents from time to time goes on.
      watcher.on('error', () => drop(directory))
      watching.set(directory, { watcher, inode: inodeOf(directory) })
    } catch {
      drop(directory)
    }
  }
  return {
    follow(files) {
      const wanted = new Set(files.flatMap((file) => [dirname(file), dirname(linkedFrom(file))]))
      for (const [directory, { inode }] of watching) {
        if (!wanted.has(directory) || inodeOf(directory) !== inode) drop(directory)
      }
      for (const directory of wanted) if (!watching.has(directory)) add(directory)
    },
  }
}

function inodeOf(directory: string): number {
  return statSync(directory, { throwIfNoEntry: false })?.ino ?? -1
}

function linkedFrom(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    return file
  }
}
