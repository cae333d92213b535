import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { root } from '../docs/page.ts'
import type { FoldingRig } from '../e2e/folding-rig.ts'
import { failOnLeaks } from '../support/leaks.ts'
import { startProcess } from '../support/processes.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { chromiumAvailable, launch, openTab, toolsRequired } from './browser.ts'
import { startCanary, toCanary, tokens, until } from './page-rig.ts'

failOnLeaks()
vi.setConfig({ hookTimeout: 60_000 })

/** From nothing running to a rollback that every replica has confirmed, people's own time not counted. */
const limitMs = 30_000

const told = (how: string, ms: number): void =>
  void process.stdout.write(`rollback ${how}, from a cold terminal to confirmed 1/1: ${(ms / 1_000).toFixed(1)} s\n`)

describe('a rollback is confirmed within thirty seconds of a cold terminal', () => {
  let rig: FoldingRig
  beforeAll(async () => {
    rig = await startCanary()
  })
  afterAll(() => rig[Symbol.asyncDispose]())
  beforeEach(() => toCanary(rig))

  it('by command', { timeout: 60_000 }, async () => {
    await using dir = createTempDir()
    writeFileSync(dir.file('oncall.token'), tokens.oncall)
    const began = performance.now()
    const words = ['rollback', 'postprocess', '--reason', 'incident 7', '--admin', rig.gateway.adminUrl]
    await using command = await startProcess({
      args: ['proxy/cli/foldgate.ts', ...words, '--token-file', dir.file('oncall.token')],
      cwd: root,
    })
    const { code } = await command.exit
    const took = performance.now() - began
    expect([code, command.stdout]).toEqual([0, expect.stringContaining('confirmed 1/1')])
    expect(rig.gateway.stages.of('postprocess').stage).toBe('rolled-back')
    expect(took).toBeLessThan(limitMs)
    told('by command', took)
  })

  it.skipIf(!chromiumAvailable && !toolsRequired)('by page', { timeout: 60_000 }, async () => {
    const began = performance.now()
    const browser = await launch()
    try {
      await using tab = await openTab(browser, rig.gateway.adminUrl)
      const { page } = tab
      await until(page, 'postprocess', 'canary 1 %')
      await page.keyboard.press('r')
      await page.keyboard.press('Enter')
      await page.locator('#outcome .confirmed', { hasText: '1 of 1' }).waitFor()
      const took = performance.now() - began
      expect(rig.gateway.stages.of('postprocess').stage).toBe('rolled-back')
      expect(took).toBeLessThan(limitMs)
      told('by page', took)
    } finally {
      await browser.close()
    }
  })
})
