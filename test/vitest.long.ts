import { mergeConfig } from 'vitest/config'
import base from '../vitest.config.ts'

/** Tests that take minutes. */
export default mergeConfig(base, {
  test: { include: ['**/*.long.test.ts'], exclude: ['**/node_modules/**'], testTimeout: 600_000 },
})
