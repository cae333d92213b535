import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { sha256 } from '../../../plugins/canonical.ts'

/** A file of the page, in memory. */
export interface PageFile {
  readonly body: string
  readonly contentType: string
  /** Of its bytes (RFC 9110 §8.8.3). */
  readonly etag: string
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

let files: ReadonlyMap<string, PageFile> | undefined
let runbooks: ReadonlyMap<string, PageFile> | undefined

/** A file of the page by its name; undefined when there is none. All are read when the first one is asked for, and no more after that. */
export function pageFile(name: string): PageFile | undefined {
  files ??= filesIn(join(import.meta.dirname, 'static'), types)
  return files.get(name)
}

/** A runbook by its name without `.md`; as plain text, which every browser shows. */
export function runbookFile(name: string): PageFile | undefined {
  runbooks ??= filesIn(join(import.meta.dirname, '../../../grafana/runbooks'), { '.md': 'text/plain; charset=utf-8' })
  return runbooks.get(`${name}.md`)
}

/** The names of all runbooks that lie beside the program; none where it was installed without. */
export function runbookNames(): readonly string[] {
  runbookFile('')
  return [...(runbooks?.keys() ?? [])].map((name) => name.replace(/\.md$/, '')).filter((name) => name !== 'README')
}

function filesIn(folder: string, wanted: Readonly<Record<string, string>>): Map<string, PageFile> {
  const found = new Map<string, PageFile>()
  for (const name of namesIn(folder)) {
    const contentType = wanted[extname(name)]
    if (contentType === undefined) continue
    const body = readFileSync(join(folder, name), 'utf8')
    found.set(name, { body, contentType, etag: `"${sha256(body).slice(0, 32)}"` })
  }
  return found
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
