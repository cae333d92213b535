import type { Reporter, TestModule } from 'vitest/node'

/** Counts what ran and says it in one line, the last of all: `N passed, N failed, N skipped`. */
class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const counts = { passed: 0, failed: errors.length, skipped: 0 }
    for (const module of modules) {
      // A file that cannot be loaded has no tests to fail.
      if (module.errors().length > 0 && [...module.children.allTests()].length === 0) counts.failed++
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === 'passed' || state === 'failed') counts[state]++
        else counts.skipped++
      }
    }
    // After vitest's own summary, which is printed by another reporter in the same turn.
    process.on('exit', () => console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`))
  }
}

export default ClosingLine
