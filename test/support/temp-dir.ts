import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A directory that goes with its owner. */
export interface TempDir extends AsyncDisposable {
  readonly path: string
  /** The path of a file in it. */
  file(name: string): string
}

/** A new, empty directory; disposing it removes it with everything in it. */
export function createTempDir(): TempDir {
  const path = mkdtempSync(join(tmpdir(), 'foldgate-test-'))
  return {
    path,
    file: (name) => join(path, name),
    [Symbol.asyncDispose]: async () => rmSync(path, { recursive: true, force: true }),
  }
}
