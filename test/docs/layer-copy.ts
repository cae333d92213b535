import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createTempDir } from '../support/temp-dir.ts'
import { type Block, root } from './page.ts'

/** A copy of the product with the guide's layer in it. */
export interface LayerCopy extends AsyncDisposable {
  readonly path: string
  /** Runs one of the project's programs (or `node`) in the copy, to its end. */
  run(program: string, ...args: readonly string[]): Promise<Ended>
}

/** How a program ended, and what it printed. */
export interface Ended {
  readonly code: number | null
  readonly out: string
}

const parts = ['plugins', 'proxy', 'config', 'native-runner', 'test', 'package.json', 'tsconfig.json', 'biome.json']

/** Copies the product and does what the guide says: writes its files, and adds its lines to the lists, the laws and the directives. */
export function createLayerCopy(blocks: readonly Block[]): LayerCopy {
  const dir = createTempDir()
  for (const part of parts) cpSync(join(root, part), dir.file(part), { recursive: true })
  symlinkSync(join(root, 'node_modules'), dir.file('node_modules'))
  for (const { file, text } of blocks.filter(({ file }) => file.startsWith('plugins/headroom/'))) {
    mkdirSync(dirname(dir.file(file)), { recursive: true })
    writeFileSync(dir.file(file), text)
  }
  const change = (file: string, how: (text: string, lines: readonly string[]) => string): void =>
    edit(dir.file(file), textOf(blocks, file), how)
  change('plugins/index.ts', (text, [line = '', , list = '']) =>
    text.replace(/^(?=import)/m, `${line}\n`).replace(/^export const layers = .*$/m, list),
  )
  change('test/laws/cases.ts', (text, lines) =>
    text.replace(/(export const lawCases[\s\S]*?\n)}\n/, `$1${lines.join('\n')}}\n`),
  )
  change('plugins/directives.ts', (text, [member = '', outline = '']) =>
    behind(behind(text, /^ {2}readonly rate_limit\?.*\n/m, member), /^ {4}rate_limit: object,\n/m, outline),
  )
  change('proxy/directives.ts', (text, [reader = '']) => behind(text, /^ {2}rate_limit: \[.*\n/m, reader))
  const include = ['plugins/headroom', 'plugins/index.ts', 'proxy/directives.ts', 'test/laws/cases.ts']
  writeFileSync(dir.file('tsconfig.guide.json'), JSON.stringify({ extends: './tsconfig.json', include }))
  return { ...dir, run: (program, ...args) => run(dir.path, program, args) }
}

function textOf(blocks: readonly Block[], file: string): string {
  return blocks.find((block) => block.file === file)?.text ?? ''
}

function edit(path: string, added: string, change: (text: string, lines: readonly string[]) => string): void {
  writeFileSync(path, change(readFileSync(path, 'utf8'), added.split('\n')))
}

/** The text with one more line behind one that is there. */
function behind(text: string, line: RegExp, more: string): string {
  return text.replace(line, (found) => `${found}${more}\n`)
}

function run(cwd: string, program: string, args: readonly string[]): Promise<Ended> {
  const bin = join(root, 'node_modules', '.bin')
  const PATH = `${bin}:${process.env['PATH']}`
  // What vitest tells its workers would make a vitest in here believe that it is one.
  const foreign = /^(VITEST.*|NODE_ENV|TEST|FORCE_COLOR)$/
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)))
  const env = { ...inherited, PATH, NO_COLOR: '1' }
  const child = spawn(program === 'node' ? process.execPath : join(bin, program), args, { cwd, env })
  let out = ''
  const hear = (text: Buffer): void => {
    out += text.toString()
  }
  child.stdout.on('data', hear)
  child.stderr.on('data', hear)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, out }))
  })
}
