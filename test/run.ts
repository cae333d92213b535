import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

/** `npm test`: types, lint, generated files, then every test. Stops at the first that fails; arguments go to the tests. */
const steps: readonly (readonly [command: string, ...args: string[]])[] = [
  ['tsc', '--noEmit'],
  ['biome', 'check', '.'],
  ['node', 'test/generate.ts', '--check'],
  ['vitest', 'run', ...process.argv.slice(2)],
]

// Tests start hundreds of processes from the same sources: what one has compiled the others read back.
const env = { NODE_COMPILE_CACHE: join(import.meta.dirname, '../node_modules/.cache/compiled'), ...process.env }

for (const [command, ...args] of steps) {
  const { status } = spawnSync(command, args, { stdio: 'inherit', env })
  if (status !== 0) {
    if (command !== 'vitest') console.log(`${command} ${args.join(' ')} failed\n0 passed, 1 failed, 0 skipped`)
    process.exit(status ?? 1)
  }
}
