import { spawnSync } from 'node:child_process'

/** `npm test`: types, lint, generated files, then every test. Stops at the first that fails; arguments go to the tests. */
const steps: readonly (readonly [command: string, ...args: string[]])[] = [
  ['tsc', '--noEmit'],
  ['biome', 'check', '.'],
  ['node', 'test/generate.ts', '--check'],
  ['vitest', 'run', ...process.argv.slice(2)],
]

for (const [command, ...args] of steps) {
  const { status } = spawnSync(command, args, { stdio: 'inherit' })
  if (status !== 0) {
    if (command !== 'vitest') console.log(`${command} ${args.join(' ')} failed\n0 passed, 1 failed, 0 skipped`)
    process.exit(status ?? 1)
  }
}
