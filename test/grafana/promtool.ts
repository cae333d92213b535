import { spawnSync } from 'node:child_process'
import { root } from '../docs/page.ts'

/** True when `promtool` (Debian's package `prometheus`) is on the PATH. */
export const promtoolAvailable: boolean = spawnSync('promtool', ['--version']).status === 0

/** True where tests may not be skipped for want of a program: `.ci/run` installs them all and says so. */
export const toolsRequired: boolean = process.env['TEST_TOOLS_REQUIRED'] === '1'

/** What promtool made of something: its exit status and everything that it said. */
export interface Checked {
  readonly status: number | null
  readonly said: string
}

/** Runs promtool at the root of the project. */
export function promtool(...args: string[]): Checked {
  const { status, stdout, stderr, error } = spawnSync('promtool', args, { cwd: root, encoding: 'utf8' })
  return { status, said: error ? String(error) : `${stdout}${stderr}` }
}
