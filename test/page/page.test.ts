import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { layers } from '../../plugins/index.ts'
import { type FoldingRig, startFoldingRig } from '../e2e/folding-rig.ts'
import { failOnLeaks } from '../support/leaks.ts'
import { chromiumAvailable, launch, openTab, toolsRequired } from './browser.ts'
import {
  adminWithTokens,
  enterToken,
  focused,
  historyOf,
  localUrl,
  moveBy,
  saysOf,
  startCanary,
  toCanary,
  tokens,
  until,
} from './page-rig.ts'

failOnLeaks()
// A browser on a busy machine takes its time.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })
if (!chromiumAvailable && !toolsRequired)
  process.stderr.write(
    '\n  !!  SKIPPED: the on-call page needs Chromium (set CHROMIUM, or apt-get install chromium)\n\n',
  )

describe.skipIf(!chromiumAvailable && !toolsRequired)('the on-call page', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser.close())

  it('shows every layer on its seat, asks nobody but its gateway, and only by GET', async () => {
    await using rig = await startFoldingRig({ stages: { postprocess: 'native' } })
    await (await rig.chat()).arrayBuffer()
    await using tab = await openTab(browser, `${rig.gateway.adminUrl}/`)
    const { page, asked, faults } = tab
    await until(page, 'postprocess', 'native')
    const names = await page.locator('li[data-layer] h3').allTextContents()
    expect(names).toEqual(layers.map(({ name }) => name))
    expect(await saysOf(page, 'auth')).toBe('gateway')
    const stops = await page.locator('.heading .stop').allTextContents()
    expect(stops).toEqual(['gateway', 'shadow', '1 %', '10 %', '50 %', '100 %', 'native'])
    const seat = page.locator('li[data-layer="postprocess"] .seat')
    expect(await seat.nth(6).getAttribute('class')).toBe('seat at')
    expect(await page.locator('#replicas').textContent()).toBe('1 of 1 replica agrees')
    expect(await page.locator('[aria-labelledby="tile-calls"] .value').textContent()).toContain('1 a minute')
    expect(asked.filter((each) => !each.startsWith(`GET ${rig.gateway.adminUrl}/`))).toEqual([])
    expect(asked.length).toBeGreaterThan(10)
    expect(faults).toEqual([])
  })

  it('shows a change that was made elsewhere without being loaded again, and who made it', async () => {
    await using rig = await startCanary()
    await using tab = await openTab(browser, `${rig.gateway.adminUrl}/`)
    const { page, asked } = tab
    await until(page, 'postprocess', 'canary 1 %')
    await page.evaluate('document.body.dataset.mark = "the same document"')
    await moveBy(rig.gateway.adminUrl, 'postprocess', 'promote')
    await until(page, 'postprocess', 'canary 10 %')
    expect(await page.evaluate('document.body.dataset.mark')).toBe('the same document')
    const change = page.locator('#changes li').first()
    expect(await change.textContent()).toMatch(/postprocess canary 1 %.*canary 10 %oncall: from elsewhere$/)
    expect(await page.locator('#judged h3').textContent()).toBe('postprocess, canary 10 %')
    expect(asked.filter((each) => each.endsWith('/-/events'))).toHaveLength(1)
  })

  it('listens again by itself after the gateway was started anew', async () => {
    const first = await startFoldingRig()
    const port = Number(new URL(first.gateway.adminUrl).port)
    await using tab = await openTab(browser, `${first.gateway.adminUrl}/`)
    const { page } = tab
    await until(page, 'postprocess', 'gateway')
    await first[Symbol.asyncDispose]()
    await page.locator('.live.off', { hasText: 'trying again' }).waitFor()
    expect(await page.locator('main.stale').count()).toBe(1)
    await using second = await startFoldingRig({ stages: { postprocess: 'native' }, config: { admin: { port } } })
    await until(page, 'postprocess', 'native')
    expect(await page.locator('main.stale').count()).toBe(0)
    expect(await page.locator('#live').textContent()).toBe('live')
    expect(second.gateway.adminUrl).toBe(first.gateway.adminUrl)
  })
})

describe.skipIf(!chromiumAvailable && !toolsRequired)('the on-call page away from loopback', () => {
  let browser: Browser
  let rig: FoldingRig
  beforeAll(async () => {
    browser = await launch()
    rig = await startCanary({ config: { admin: { host: '0.0.0.0', ...adminWithTokens } } })
  })
  afterAll(async () => {
    await browser.close()
    await rig[Symbol.asyncDispose]()
  })
  beforeEach(() => toCanary(rig))

  it('without a token it shows nothing, and says so where one is wrong', async () => {
    await using tab = await openTab(browser, localUrl(rig))
    const { page } = tab
    await page.locator('#token-input').waitFor()
    expect(await page.locator('#main').isVisible()).toBe(false)
    expect(await page.locator('li[data-layer]').count()).toBe(0)
    await enterToken(page, 'not-a-token')
    await page.locator('#token-fault', { hasText: 'not known here' }).waitFor()
    await enterToken(page, tokens.screen)
    await until(page, 'postprocess', 'canary 1 %')
    expect(await page.locator('#who').textContent()).toBe('screen, viewer')
    // In this tab only: nothing that another tab, or the disk, would have.
    expect(await page.evaluate('[sessionStorage.length, localStorage.length, document.cookie]')).toEqual([1, 0, ''])
    expect(page.url()).not.toContain(tokens.screen)
    await page.locator('#forget').click()
    await page.locator('#token-input').waitFor()
    expect(await page.locator('#main').isVisible()).toBe(false)
  })

  it('offers a viewer no way to change anything, and the gateway refuses one', async () => {
    const url = localUrl(rig)
    await using tab = await openTab(browser, url)
    const { page } = tab
    await enterToken(page, tokens.screen)
    await until(page, 'postprocess', 'canary 1 %')
    expect(await page.locator('[data-rollback]:visible').count()).toBe(0)
    await page.keyboard.press('r')
    await page.locator('#toast.shown', { hasText: 'may look' }).waitFor()
    expect(await page.locator('#rollback').isVisible()).toBe(false)
    expect(await page.locator('#stop-command').textContent()).toBe(
      `foldgate rollback --all --reason WHY --admin ${url} --token-file FILE`,
    )
    const answer = await fetch(`${url}/-/layers/postprocess/rollback`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${tokens.screen}` },
      body: '{"reason":"no"}',
    })
    expect(answer.status).toBe(403)
    expect(await saysOf(page, 'postprocess')).toBe('canary 1 %')
  })

  it('takes a layer back by two keys, confirmed by every replica in so many milliseconds, and in the history by name', async () => {
    const url = localUrl(rig)
    await using tab = await openTab(browser, url)
    const { page, faults } = tab
    await enterToken(page, tokens.oncall)
    await until(page, 'postprocess', 'canary 1 %')
    await page.keyboard.press('r')
    expect(await focused(page)).toBe('rollback-reason')
    expect(await page.inputValue('#rollback-reason')).toMatch(/^on call: \S/)
    expect(await page.inputValue('#rollback-what')).toBe('postprocess')
    expect(await page.locator('#rollback-who-row').isVisible()).toBe(false)
    expect(await page.locator('#rollback-command').textContent()).toBe(
      `foldgate rollback postprocess --reason 'on call: taken back while we look' --admin ${url} --token-file FILE`,
    )
    await page.keyboard.press('Enter')
    const confirmed = page.locator('#outcome .confirmed')
    await confirmed.waitFor()
    expect(await confirmed.textContent()).toMatch(/^Confirmed by 1 of 1 replica in \d+ ms\.$/)
    await until(page, 'postprocess', 'rolled back')
    expect(await page.locator('#changes li').first().textContent()).toContain('oncall: on call: taken back')
    const [last] = (await historyOf(url)).toReversed()
    expect(last).toMatchObject({ layer: 'postprocess', to: 'rolled-back', actor: 'oncall' })
    // The 401 of before the token was entered is all that the browser complained of.
    expect(faults.filter((each) => !each.includes('401'))).toEqual([])
  })
})
