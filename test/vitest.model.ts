import { defineConfig } from 'vitest/config'
import base from '../vitest.config.ts'

/** Tests on the real model, fetched into the cache folder on first need. */
export default defineConfig({
  test: {
    ...base.test,
    include: ['**/*.model.test.ts'],
    exclude: ['**/node_modules/**'],
    testTimeout: 300_000,
    hookTimeout: 600_000,
    maxWorkers: 1,
  },
})
