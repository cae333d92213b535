import { createHash } from 'node:crypto'
import type { Page } from 'playwright-core'
import type { ChangeView, StageOutcome } from '../../proxy/admin/stage-view.ts'
import { type FoldingRig, type FoldingRigOptions, startFoldingRig } from '../e2e/folding-rig.ts'

/** Tokens of an operator and of a viewer. */
export const tokens = { oncall: 'op-token-of-these-tests', screen: 'view-token-of-these-tests' } as const

const hash = (token: string): string => createHash('sha256').update(token).digest('hex')

/** The `admin` section with those tokens. */
export const adminWithTokens = {
  tokens: [
    { name: 'oncall', role: 'operator', hash: hash(tokens.oncall) },
    { name: 'screen', role: 'viewer', hash: hash(tokens.screen) },
  ],
} as const

/** A gateway whose admin port asks for tokens, and postprocess in its canary at one per cent. */
export async function startCanary(options: FoldingRigOptions = {}): Promise<FoldingRig> {
  const rig = await startFoldingRig({ ...options, config: { admin: adminWithTokens, ...options.config } })
  try {
    await toCanary(rig)
    return rig
  } catch (fault) {
    await rig[Symbol.asyncDispose]()
    throw fault
  }
}

/** Where the admin port of a gateway that listens on every address is asked from this machine. */
export function localUrl({ gateway }: Pick<FoldingRig, 'gateway'>): string {
  return gateway.adminUrl.replace('0.0.0.0', '127.0.0.1')
}

/** Takes postprocess into its canary at one per cent, and every other layer home. */
export async function toCanary(rig: Pick<FoldingRig, 'gateway'>): Promise<void> {
  await changeBy(localUrl(rig), '/-/rollback')
  for (const verb of ['shadow', 'promote']) await moveBy(localUrl(rig), 'postprocess', verb)
}

/** Moves a layer as an operator does elsewhere. Throws when it is refused. */
export function moveBy(adminUrl: string, layer: string, verb: string): Promise<StageOutcome> {
  return changeBy(adminUrl, `/-/layers/${layer}/${verb}`)
}

async function changeBy(adminUrl: string, path: string): Promise<StageOutcome> {
  const answer = await fetch(adminUrl + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${tokens.oncall}` },
    body: JSON.stringify({ reason: 'from elsewhere' }),
  })
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as StageOutcome
}

/** Gives the page a token, as a person does. */
export async function enterToken(page: Page, token: string): Promise<void> {
  await page.locator('#token-input').fill(token)
  await page.keyboard.press('Enter')
}

/** What a layer's row says of its stage. */
export async function saysOf(page: Page, layer: string): Promise<string> {
  return (await page.locator(`li[data-layer="${layer}"] .said`).textContent()) ?? ''
}

/** Waits until a layer's row says so. */
export async function until(page: Page, layer: string, said: string): Promise<void> {
  await page.locator(`li[data-layer="${layer}"] .said`, { hasText: said }).waitFor({ timeout: 8_000 })
}

/** How layers have moved, as a viewer is told. */
export async function historyOf(url: string): Promise<readonly ChangeView[]> {
  const headers = { authorization: `Bearer ${tokens.screen}` }
  const answer = await fetch(`${url}/-/history`, { headers })
  return ((await answer.json()) as { changes: readonly ChangeView[] }).changes
}

/** Closes the dialog that is open; the browser takes a moment for that. */
export async function closeDialog(page: Page): Promise<void> {
  await page.keyboard.press('Escape')
  await page.locator('dialog[open]').waitFor({ state: 'detached' })
}

/** The id of the element that has the focus. */
export const focused = (page: Page): Promise<unknown> => page.evaluate('document.activeElement?.id')
