import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

/** The root of the project. */
export const root: string = resolve(import.meta.dirname, '../..')

/** The text of a page, by its path from the root. */
export function pageFrom(path: string): string {
  return readFileSync(resolve(root, path), 'utf8')
}

/** A fenced block of a page. */
export interface Block {
  /** What stands behind the fence: `ts`, `yaml`, `sh`; empty when nothing does. */
  readonly language: string
  readonly text: string
  /** The nearest file that is named in backticks before it, such as `plugins/headroom/config.ts`; empty when none is. */
  readonly file: string
  /** The heading it stands under, without marks. */
  readonly heading: string
}

/** The fenced blocks of a page, in order. A block inside a list is unindented. */
export function blocksFrom(page: string): readonly Block[] {
  const blocks: Block[] = []
  let [heading, file] = ['', '']
  // Pieces take turns: prose, then what stands between two fences.
  for (const [turn, piece] of page.split(/^(?: *)```/m).entries()) {
    if (turn % 2 === 1) {
      const [language = '', ...lines] = piece.split('\n')
      blocks.push({ language, text: unindented(lines), file, heading })
      continue
    }
    for (const line of piece.split('\n')) {
      const head = /^#+ (.*)$/.exec(line)?.[1]
      if (head !== undefined) [heading, file] = [head.replaceAll('`', ''), '']
      file = /`([\w./-]+\.ts)`$/.exec(line)?.[1] ?? file
    }
  }
  return blocks
}

function unindented(lines: readonly string[]): string {
  const margin = /^ */.exec(lines[0] ?? '')?.[0].length ?? 0
  return lines.map((line) => line.slice(Math.min(margin, line.length))).join('\n')
}

/** The rows of the tables under a heading, cells trimmed, without the heads; empty when there is none. */
export function rowsUnder(page: string, heading: string): readonly (readonly string[])[] {
  const [, after = ''] = page.split(new RegExp(`^#+ ${heading}$`, 'm'))
  const lines = (after.split(/^#+ /m)[0] as string).split('\n')
  const isRule = (line: string | undefined): boolean => /^\|[-| ]+\|$/.test(line ?? '')
  return lines
    .filter((line, at) => line.startsWith('|') && !isRule(line) && !isRule(lines[at + 1]))
    .map((line) => line.split('|').slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim()))
}

/** A cell without its backticks. */
export function plain(cell: string | undefined): string {
  return (cell ?? '').replaceAll('`', '')
}
