import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { configSchema } from '../../config/installed.ts'
import type { LoadedConfig } from '../../config/load.ts'
import { canonicalDigest } from '../../plugins/canonical.ts'
import { gatewayError } from '../../plugins/errors.ts'
import { type RunnerProcess, startRunnerProcess } from '../cli/runner-process.ts'
import type { StageConstants } from '../folding/rollout/stage-constants.ts'
import { type Gateway, startGateway } from '../gateway.ts'
import { openShakyLine, type ShakyLine } from './shaky-line.ts'

/** A gateway in this process, two runners in processes of their own, and a fault on the way to the second. */
export interface DemoHouse {
  readonly gateway: Gateway
  readonly shaky: ShakyLine
  close(): Promise<void>
}

/** The layer that moves in the demonstration: the innermost, which moves first. */
export const demoLayer = 'postprocess'
/** Shares of the canary in percent. */
export const demoShares = [1, 10, 50, 100] as const

/** Starts a {@link DemoHouse}. Throws `runner_unreachable` where a runner does not start. */
export async function openDemoHouse(scale: number): Promise<DemoHouse> {
  const stack = new AsyncDisposableStack()
  try {
    const dir = mkdtempSync(join(tmpdir(), 'foldgate-demo-'))
    stack.defer(() => rmSync(dir, { recursive: true, force: true }))
    for (const name of ['signing.key', 'runner.key'])
      writeFileSync(join(dir, name), randomBytes(32).toString('base64url'), { mode: 0o600 })
    const [steady, second] = [await startedRunner(stack, dir), await startedRunner(stack, dir)]
    const shaky = await openShakyLine(second.url)
    stack.defer(() => shaky.close())
    const loaded = loadedFor(dir, { steady: steady.url, shaky: shaky.url })
    const gateway = await startGateway({
      ...{ loaded, load: () => loaded, logTo: { write: () => undefined } },
      pace: (constants) => hurried(constants, scale),
    })
    stack.defer(() => gateway.close())
    await gateway.setup().folding.instances?.ready
    const kept = stack.move()
    return { gateway, shaky, close: () => kept.disposeAsync() }
  } catch (reason) {
    await stack.disposeAsync()
    throw reason
  }
}

async function startedRunner(stack: AsyncDisposableStack, dir: string): Promise<RunnerProcess> {
  const keys = ['--api-key-file', join(dir, 'runner.key'), '--key', `demo=${join(dir, 'signing.key')}`]
  const args = ['--engine', 'echo', '--model', 'echo', '--host', '127.0.0.1', '--port', '0']
  const started = await startRunnerProcess([...args, ...keys])
  if (typeof started === 'string') throw gatewayError('runner_unreachable', `the runner did not start: ${started}`)
  stack.defer(() => started.stop())
  return started
}

/**
 * Constants for people who wait: what takes hours by its nature (dwell, many tenants, every stratum, 10,000 calls in the last step, a p99
 * over 5,000 calls, a sample of answers) is left out, and the rates that are told apart are `scale` times the real ones, which takes as many times fewer calls.
 */
export function hurried(constants: StageConstants, scale: number): StageConstants {
  const { p99Ratio: _, overQ99: _two, overQ95: _one, answers: _three, ...needs } = constants.needs
  const calls = Math.ceil(Math.min(needs.calls, 1_000) / scale)
  const few = { units: 10, tenants: 1, dwellMs: 0, strata: [], calls, noIgnores: true }
  const { p0, p1, ...chances } = constants.errors
  return {
    ...constants,
    errors: { ...chances, p0: p0 * scale, p1: Math.min(0.5, p1 * scale) },
    needs: {
      ...{ ...needs, ...few, fallbacks: 0.05, failures: 0.05 },
      ...(needs.differences === undefined ? {} : { differences: needs.differences * scale }),
    },
  }
}

function loadedFor(base: string, { steady, shaky }: { steady: string; shaky: string }): LoadedConfig {
  const runner = (name: string, url: string): object => ({ name, kind: 'native', url, apiKeyFile: 'runner.key' })
  const config = configSchema.parse({
    listen: { port: 0 },
    admin: { port: 0 },
    drain: { delayMs: 0, graceMs: 1_000 },
    telemetry: { logLevel: 'info' },
    runners: [runner('steady', steady), runner('shaky', shaky)],
    signing: { keys: [{ kid: 'demo', alg: 'HS256', secretFile: 'signing.key' }], active: 'demo' },
    layers: {
      routing: {
        targets: ['steady', 'shaky'].map((name) => ({ runner: name, model: 'echo', weight: 1, aliases: ['demo'] })),
      },
      postprocess: { pii: { mode: 'redact', types: ['email'] } },
    },
    folding: { policy: { stages: [...demoShares], tiers: [], autopilot: true }, stateFile: null },
  })
  const digest = canonicalDigest(config)
  const file = join(base, 'gateway.yaml')
  return {
    ...{ config, view: config, digest, fingerprint: digest, file, base },
    ...{ warnings: [], files: [], line: () => undefined },
  }
}
