import { defineConfig } from 'vitest/config'
import base from '../vitest.config.ts'

/** Tests that take minutes. Not merged: merging keeps the exclusion that the default tests need. */
export default defineConfig({
  test: { ...base.test, include: ['**/*.long.test.ts'], exclude: ['**/node_modules/**'], testTimeout: 600_000 },
})
