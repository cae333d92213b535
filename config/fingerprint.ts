import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'

/** What tells one state of some files from another. */
export interface Fingerprint {
  readonly digest: string
  /** A file is not there, or is empty: somebody may be in the middle of replacing it. */
  readonly missing: boolean
}

/** Beyond this a file is told apart by its size and times instead of its content, in bytes. */
const largeBytes = 1_048_576

/** The state of files now. Never throws. */
export function fingerprintFiles(files: readonly string[]): Fingerprint {
  const hash = createHash('sha256')
  let missing = false
  for (const file of files) {
    const content = contentOf(file)
    if (!content || content.length === 0) missing = true
    hash.update(`${file}\n${content ? content.length : 'none'}\n`).update(content ?? '')
  }
  return { digest: hash.digest('hex'), missing }
}

function contentOf(file: string): Buffer | string | undefined {
  try {
    const { size, mtimeMs, ino } = statSync(file)
    return size > largeBytes ? `${size} ${mtimeMs} ${ino}` : readFileSync(file)
  } catch {
    return undefined
  }
}
