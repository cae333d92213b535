import { spawnSync } from 'node:child_process'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

/** The browser that the page is tried in: `CHROMIUM`, or where Debian puts it. */
export const chromiumPath: string = process.env['CHROMIUM'] ?? '/usr/bin/chromium'

/** True when there is one. */
export const chromiumAvailable: boolean = spawnSync(chromiumPath, ['--version']).status === 0

/** True where tests may not be skipped for want of a program: `.ci/run` installs them all and says so. */
export const toolsRequired: boolean = process.env['TEST_TOOLS_REQUIRED'] === '1'

/** Starts the browser without a window. */
export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
}

/** A tab with a session of its own, and what happened in it. */
export interface Tab extends AsyncDisposable {
  readonly page: Page
  readonly context: BrowserContext
  /** Every URL that was asked for. */
  readonly asked: readonly string[]
  /** What the page complained about: exceptions and errors on the console, such as what the policy kept out. */
  readonly faults: readonly string[]
}

/** Opens a URL in a tab of its own. */
export async function openTab(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Tab> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
  const page = await context.newPage()
  const [asked, faults]: [string[], string[]] = [[], []]
  page.on('request', (request) => void asked.push(`${request.method()} ${request.url()}`))
  page.on('pageerror', (error) => void faults.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(message.text())
  })
  await page.goto(url)
  return { page, context, asked, faults, [Symbol.asyncDispose]: () => context.close() }
}
