import { defineConfig } from 'vitest/config'

/** The default tests: everything that needs no model and no network, on three workers: two cores have time for one more, since many tests wait. */
export default defineConfig({
  test: {
    include: ['{plugins,proxy,native-runner,config,test}/**/*.test.ts'],
    exclude: ['**/*.model.test.ts', '**/*.long.test.ts', '**/node_modules/**'],
    pool: 'forks',
    maxWorkers: 3,
    testTimeout: 20_000,
    hookTimeout: 30_000,
    reporters: ['default', './test/closing-line.ts'],
  },
})
