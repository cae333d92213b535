import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

/** A small file that is always whole: what it was, or what it became. */
export interface DurableFile {
  /** Its text; undefined where there is none. Throws as `fs` does for one that cannot be read. */
  read(): string | undefined
  /** Replaces it, and returns when it is on the disk. Readable and writable by its owner only. Throws as `fs` does. */
  write(text: string): void
  /** Puts it aside, under a name with `.corrupt`, where the next such one replaces it. Never throws. */
  putAside(): void
}

/** Makes a {@link DurableFile} at a path, in a directory that is there. Beside it `<path>.new` may lie, left by a process that died. */
export function createDurableFile(path: string): DurableFile {
  const fresh = `${path}.new`
  return {
    read() {
      try {
        return readFileSync(path, 'utf8')
      } catch (reason) {
        if ((reason as NodeJS.ErrnoException).code === 'ENOENT') return undefined
        throw reason
      }
    },
    write(text) {
      withFile(fresh, 'w', (file) => writeAll(file, Buffer.from(text)))
      renameSync(fresh, path)
      // The new name is in the directory, which is a file of its own.
      withFile(dirname(path), 'r', () => undefined)
    },
    putAside() {
      try {
        renameSync(path, `${path}.corrupt`)
      } catch {
        // What replaces it will say so.
      }
    },
  }
}

function withFile(path: string, flags: string, use: (file: number) => void): void {
  const file = openSync(path, flags, 0o600)
  try {
    use(file)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

function writeAll(file: number, bytes: Buffer): void {
  let written = 0
  while (written < bytes.length) written += writeSync(file, bytes, written)
}
