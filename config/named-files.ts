import { joinPath } from '../plugins/schema.ts'

/** A file that the configuration names: where in the configuration, and the path as written there. */
export interface NamedFile {
  readonly path: string
  readonly file: string
}

// Files that need not be there: one that is written here, one whose being there says something.
const ownFiles: ReadonlySet<string> = new Set(['stateFile', 'panicFile'])

/** Every text under a key `file` or `…File` inside a value that stands at a dotted path. */
export function namedFiles(value: unknown, path = ''): NamedFile[] {
  if (value === null || typeof value !== 'object') return []
  return Object.entries(value).flatMap(([key, member]) => {
    const place = joinPath(path, key)
    if (typeof member !== 'string') return namedFiles(member, place)
    return /(^f|F)ile$/.test(key) && !ownFiles.has(key) ? [{ path: place, file: member }] : []
  })
}
