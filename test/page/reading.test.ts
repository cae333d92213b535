import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { FoldingRig } from '../e2e/folding-rig.ts'
import { failOnLeaks } from '../support/leaks.ts'
import { chromiumAvailable, launch, openTab, toolsRequired } from './browser.ts'
import { closeDialog, focused, historyOf, moveBy, saysOf, startCanary, toCanary, until } from './page-rig.ts'

failOnLeaks()
// A browser on a busy machine takes its time.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Violation {
  readonly id: string
  readonly impact: string
  readonly nodes: readonly { readonly target: readonly string[] }[]
}

/** What axe-core finds, each as its rule and the elements. */
async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axeSource)
  const found = (await page.evaluate('axe.run().then(({ violations }) => violations)')) as readonly Violation[]
  return found.map(
    ({ id, impact, nodes }) => `${impact} ${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`,
  )
}

describe.skipIf(!chromiumAvailable && !toolsRequired)('who is on call', () => {
  let browser: Browser
  let rig: FoldingRig
  beforeAll(async () => {
    browser = await launch()
    rig = await startCanary()
  })
  afterAll(async () => {
    await browser.close()
    await rig[Symbol.asyncDispose]()
  })
  beforeEach(() => toCanary(rig))

  it.each(['light', 'dark'] as const)(
    'meets no barrier that axe-core knows in %s, dialogs included',
    async (colorScheme) => {
      // axe-core is put into the page, which its policy forbids.
      await using tab = await openTab(browser, rig.gateway.adminUrl, { colorScheme, bypassCSP: true })
      const { page } = tab
      await until(page, 'postprocess', 'canary 1 %')
      for (const each of await page.locator('summary').all()) await each.click()
      expect(await violations(page)).toEqual([])
      await page.keyboard.press('r')
      expect(await violations(page)).toEqual([])
      await page.keyboard.press('Enter')
      await until(page, 'postprocess', 'rolled back')
      expect(await violations(page)).toEqual([])
      await page.locator('#findings [data-read]').first().click()
      await page.locator('#reader-text h4').first().waitFor()
      expect(await violations(page)).toEqual([])
    },
  )

  it('never scrolls sideways at the width of a phone', async () => {
    await using tab = await openTab(browser, rig.gateway.adminUrl, { viewport: { width: 375, height: 812 } })
    const { page } = tab
    await until(page, 'postprocess', 'canary 1 %')
    for (const each of await page.locator('summary').all()) await each.click()
    const widths = '[document.documentElement.scrollWidth, document.body.scrollWidth, innerWidth]'
    expect(await page.evaluate(widths)).toEqual([375, 375, 375])
    await page.keyboard.press('r')
    await page.keyboard.press('Enter')
    await until(page, 'postprocess', 'rolled back')
    expect(await page.evaluate(widths)).toEqual([375, 375, 375])
  })

  it('hears of what changes, and keeps the focus and what was opened meanwhile', async () => {
    await using tab = await openTab(browser, rig.gateway.adminUrl)
    const { page } = tab
    await until(page, 'postprocess', 'canary 1 %')
    const button = page.locator('[data-rollback="postprocess"]')
    await page.locator('[aria-labelledby="tile-errors"] summary').click()
    await button.focus()
    const tile = page.locator('[aria-labelledby="tile-calls"] .value')
    const before = await tile.textContent()
    for (let made = 0; made < 12; made++) await (await rig.chat({}, { 'x-conversation-id': `c${made}` })).arrayBuffer()
    await expect.poll(() => tile.textContent()).not.toBe(before)
    expect(await button.evaluate((element) => element.ownerDocument.activeElement === element)).toBe(true)
    expect(await page.locator('[aria-labelledby="tile-errors"] details[open]').count()).toBe(1)
    await moveBy(rig.gateway.adminUrl, 'postprocess', 'promote')
    await page.locator('#say', { hasText: 'postprocess is canary 10 %' }).waitFor()
  })

  it('can have a call explained by its id', async () => {
    const asked = { messages: [{ role: 'user', content: 'a question of its own' }] }
    const answer = await rig.chat(asked, { 'x-request-id': 'the-call-in-question' })
    await answer.arrayBuffer()
    await using tab = await openTab(browser, rig.gateway.adminUrl)
    const { page } = tab
    await until(page, 'postprocess', 'canary 1 %')
    await page.keyboard.press('e')
    await page.keyboard.type('the-call-in-question')
    await page.keyboard.press('Enter')
    await page.locator('#reader-text table').first().waitFor()
    expect(await page.locator('#reader-text dd').first().textContent()).toContain('200 from the runner, chat')
    await page.keyboard.press('Escape')
    await page.locator('#reader').waitFor({ state: 'hidden' })
    await page.locator('#explain-id').fill('nobody')
    await page.keyboard.press('Enter')
    await page.locator('#reader-text .fault', { hasText: 'no call with this id' }).waitFor()
  })

  it('works by keyboard alone, for the layer whose row has the focus and with a reason of one’s own', async () => {
    for (let step = 0; step < 4; step++) await moveBy(rig.gateway.adminUrl, 'postprocess', 'promote')
    await moveBy(rig.gateway.adminUrl, 'prompt', 'shadow')
    await using tab = await openTab(browser, rig.gateway.adminUrl)
    const { page } = tab
    await until(page, 'prompt', 'shadow')
    await page.keyboard.press('?')
    expect(await page.locator('#keys').isVisible()).toBe(true)
    await closeDialog(page)
    for (let step = 0; step < 6; step++) await page.keyboard.press('j')
    await page.keyboard.press('r')
    expect(await page.inputValue('#rollback-what')).toBe('postprocess')
    await closeDialog(page)
    expect(await saysOf(page, 'postprocess')).toBe('native')
    await page.keyboard.press('k')
    await page.keyboard.press('r')
    expect(await page.inputValue('#rollback-what')).toBe('prompt')
    await page.keyboard.type('incident 7')
    await page.keyboard.press('Tab')
    await page.keyboard.type('mia')
    await page.keyboard.press('Enter')
    await until(page, 'prompt', 'rolled back')
    expect(await focused(page)).toBe('outcome')
    const [last] = (await historyOf(rig.gateway.adminUrl)).toReversed()
    expect(last).toMatchObject({ layer: 'prompt', actor: 'mia', reason: 'incident 7' })
    await page.keyboard.press('R')
    expect(await page.inputValue('#rollback-what')).toBe('all')
    await page.keyboard.press('Enter')
    await until(page, 'postprocess', 'rolled back')
    await page.keyboard.press('r')
    await page.locator('#toast.shown', { hasText: 'in the gateway already' }).waitFor()
  })

  it('does nothing without a reason, nor while somebody types, nor with the keys turned off', async () => {
    await using tab = await openTab(browser, rig.gateway.adminUrl)
    const { page } = tab
    await until(page, 'postprocess', 'canary 1 %')
    await page.locator('#explain-id').focus()
    await page.keyboard.type('rrr')
    expect(await page.locator('#rollback').isVisible()).toBe(false)
    await page.locator('#all').click()
    await page.locator('#rollback-reason').fill('   ')
    await page.keyboard.press('Enter')
    expect(await page.locator('#rollback').isVisible()).toBe(true)
    await closeDialog(page)
    await page.keyboard.press('?')
    await page.locator('#keys-on').uncheck()
    await closeDialog(page)
    await page.keyboard.press('r')
    expect(await page.locator('#rollback').isVisible()).toBe(false)
    expect(await saysOf(page, 'postprocess')).toBe('canary 1 %')
    expect((await historyOf(rig.gateway.adminUrl)).at(-1)).toMatchObject({ to: 'canary 1 %' })
  })

  it('that is refused says why, and leaves everything as it was typed', async () => {
    await using tab = await openTab(browser, rig.gateway.adminUrl)
    const { page } = tab
    await until(page, 'postprocess', 'canary 1 %')
    await page.route('**/rollback', (route) =>
      route.fulfill({ status: 409, contentType: 'application/problem+json', body: '{"detail":"the store is away"}' }),
    )
    await page.keyboard.press('r')
    await page.keyboard.press('Enter')
    await page.locator('#rollback-fault', { hasText: 'the store is away' }).waitFor()
    expect(await page.locator('#rollback').isVisible()).toBe(true)
    expect(await page.locator('#outcome').isVisible()).toBe(false)
  })
})
