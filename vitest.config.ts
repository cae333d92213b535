import { defineConfig } from 'vitest/config'

/** The default tests: everything that needs no model and no network, on two workers. */
export default defineConfig({
  test: {
    include: ['{plugins,proxy,native-runner,config,test}/**/*.test.ts'],
    exclude: ['**/*.model.test.ts', '**/*.long.test.ts', '**/node_modules/**'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 30_000,
    reporters: ['default', './test/closing-line.ts'],
  },
})
