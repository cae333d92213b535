import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { hurried } from '../../proxy/demo/demo-house.ts'
import { type FoldingRig, startFoldingRig } from '../e2e/folding-rig.ts'
import { until } from '../support/gate.ts'
import { launch, openTab } from './browser.ts'

/**
 * `node test/page/tour.ts OUT_DIR`: starts the product, takes it through an hour as people on call have them, and writes what the page shows
 * as `page-*.png`. The hour takes half a minute: the clock of the process is put forward a minute at a time.
 */
const folder = resolve(process.argv[2] ?? 'tour')
mkdirSync(folder, { recursive: true })

const minutes = 70
const realNow = Date.now
let behindMs = minutes * 60_000
Date.now = () => realNow() - behindMs

const phone = { width: 375, height: 812 }

await using rig = await startFoldingRig({
  pace: (constants) => hurried(constants, 0.3),
  layers: {
    'rate-limit': { limits: [{ key_fields: ['tenant'], tokens_per_minute: 100_000_000, burst_capacity: 10_000_000 }] },
  },
  config: { folding: { policy: { stages: [1, 10, 50, 100], tiers: [] } } },
})
let calls = 0

/** One call of a conversation of its own. */
async function call({ chat }: FoldingRig): Promise<void> {
  const number = calls++
  const body = { messages: [{ role: 'user', content: `call number ${number}` }] }
  const answer = await chat(body, { 'x-conversation-id': `conversation-${number}` })
  await answer.arrayBuffer()
}

async function callMany(count: number): Promise<void> {
  for (let made = 0; made < count; made += 3) await Promise.all([call(rig), call(rig), call(rig)])
}

/** Moves a layer as a person does, by their name and with their reason. */
async function move(verb: string, layer: string, by: string, reason: string): Promise<void> {
  const headers = { 'content-type': 'application/json', 'x-foldgate-actor': by }
  const url = `${rig.gateway.adminUrl}/-/layers/${layer}/${verb}`
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ reason }) })
  if (!answer.ok) throw new Error(await answer.text())
}

async function shoot(page: Page, name: string): Promise<void> {
  await page.evaluate('window.scrollTo(0, 0)')
  await page.screenshot({ path: join(folder, `page-${name}.png`), animations: 'disabled' })
  process.stdout.write(`page-${name}.png\n`)
}

const layerIs = (page: Page, layer: string, said: string): Promise<unknown> =>
  page.locator(`li[data-layer="${layer}"] .said`, { hasText: said }).waitFor({ timeout: 15_000 })

/** What happened in which minute. */
const story: Readonly<Record<number, () => Promise<void>>> = {
  2: () => move('shadow', 'postprocess', 'ana', 'OPS-12: first look'),
  4: () => move('promote', 'postprocess', 'ana', 'OPS-12: no difference in shadow'),
  6: () => move('promote', 'postprocess', 'ana', 'OPS-12'),
  9: () => move('promote', 'postprocess', 'ana', 'OPS-12'),
  12: () => move('promote', 'postprocess', 'ana', 'OPS-12'),
  15: () => move('promote', 'postprocess', 'ana', 'OPS-12: all gates met'),
  31: () => move('shadow', 'prompt', 'ben', 'OPS-19: templates at the runner'),
  45: () => move('promote', 'prompt', 'ben', 'OPS-19: no difference in 400 comparisons'),
  57: () => move('promote', 'prompt', 'ben', 'OPS-19: 1 % was quiet'),
}

async function live(from: number, to: number): Promise<void> {
  for (let minute = from; minute < to; minute++) {
    await story[minute]?.()
    await callMany(Math.round(24 + 9 * Math.sin(minute / 7) + (minute % 5)))
    behindMs -= 60_000
  }
}

await using stack = new AsyncDisposableStack()
const browser = stack.adopt(await launch(), (each) => each.close())
const { page } = stack.use(await openTab(browser, `${rig.gateway.adminUrl}/`))

await live(0, 31)
await layerIs(page, 'postprocess', 'native')
await page.locator('#findings .good').waitFor({ timeout: 60_000 })
await shoot(page, 'healthy')

await live(31, minutes)
behindMs = 0
await callMany(30)

await layerIs(page, 'prompt', 'canary 10 %')
await until(async () => (await page.locator('.seen').count()) > 0, 'the canary was judged', 10_000)
await callMany(60)
await page.waitForTimeout(2_500)
await shoot(page, 'canary')
await page.emulateMedia({ colorScheme: 'dark' })
await shoot(page, 'canary-dark')
await page.emulateMedia({ colorScheme: 'light' })

await page.keyboard.press('r')
await page.locator('#rollback[open]').waitFor()
await page.fill('#rollback-reason', 'incident 7: answers begin without their template')
await page.fill('#rollback-who', 'mia')
await page.locator('#rollback').screenshot({ path: join(folder, 'page-rollback-asked.png'), animations: 'disabled' })
await page.keyboard.press('Enter')
await page.locator('#outcome .confirmed').waitFor()
await layerIs(page, 'prompt', 'rolled back')
await callMany(30)
await page.waitForTimeout(1_500)
await shoot(page, 'rolled-back')
await page.setViewportSize(phone)
await shoot(page, 'phone')
await page.emulateMedia({ colorScheme: 'dark' })
await page.locator('[data-dismiss]').click()
await shoot(page, 'phone-dark')
