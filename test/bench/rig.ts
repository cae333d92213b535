import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../support/ports.ts'
import { type ProcessOptions, type RunningProcess, startProcess } from '../support/processes.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { type Clients, createClients } from './clients.ts'
import { createLayerSettings, type GatewayPlaces, gatewayConfig, type LayerSettings } from './gateway-config.ts'
import { type Cores, coresOfMachine, pinned } from './machine.ts'
import { type Nginx, startNginx } from './nginx.ts'
import { type BenchOptions, entryPoint } from './options.ts'
import type { UpstreamPorts } from './upstream.ts'

/** Everything that a suite measures with. Disposing it ends every process that it started. */
export interface Rig extends AsyncDisposable {
  readonly options: BenchOptions
  readonly cores: Cores
  readonly upstream: UpstreamPorts
  readonly clients: Clients
  readonly layers: LayerSettings
  /** Starts a gateway on the core of what is tested; resolves when it is ready. */
  gateway(plan: GatewayPlan): Promise<RunningGateway>
  /** A native runner whose engine and layers take no time, and the file of the key that it knows. Started on first use. */
  scriptedRunner(): Promise<ScriptedRunner>
  /** nginx in front of the plain upstream; undefined where it is not installed. Started on first use. */
  nginx(): Promise<Nginx | undefined>
  /** The least that a proxy in Node can be, in front of the plain upstream or of that at another port. */
  bare(plan?: ProcessPlan & { readonly upstream?: number }): Promise<RunningProxy>
}

/** Where a scripted runner listens, and the secret that contexts for it are signed with. */
export interface ScriptedRunner {
  readonly port: number
  readonly keyFile: string
}

/** What a gateway is started with. */
export interface GatewayPlan extends ProcessPlan {
  readonly layers: Readonly<Record<string, unknown>>
  /** Port of the upstream behind it. */
  readonly upstream: number
  readonly redis?: string
  /** Every layer sits at the runner. */
  readonly native?: string
}

/** How a process is started beside its arguments. */
export interface ProcessPlan {
  /** The project whose gateway it is; default: the one of the options. */
  readonly tree?: string
  /** Flags for Node. */
  readonly nodeFlags?: readonly string[]
  /** Added to the environment. */
  readonly env?: Readonly<Record<string, string>>
}

/** A proxy in a process of its own. */
export interface RunningProxy extends AsyncDisposable {
  readonly port: number
  readonly pid: number
  readonly process: RunningProcess
}

/** A gateway in a process of its own. */
export interface RunningGateway extends RunningProxy {
  readonly adminPort: number
}

/** Starts the upstream and prepares everything else. */
export async function createRig(options: BenchOptions, cores: Cores = coresOfMachine()): Promise<Rig> {
  const dir = createTempDir()
  const started = new AsyncDisposableStack()
  started.use(dir)
  const command = [process.execPath, join(import.meta.dirname, 'upstream.ts')]
  const upstream = started.use(await startProcess({ ...pinned(cores.rest, command), ready: /ports (.*)/ }))
  const ports = JSON.parse(upstream.readyMatch[1] ?? '{}') as UpstreamPorts
  let nginx: Promise<Nginx | undefined> | undefined
  let scripted: Promise<ScriptedRunner> | undefined
  let files = 0
  const file = (name: string, text: string): string => {
    writeFileSync(dir.file(name), text)
    return dir.file(name)
  }
  return {
    options,
    cores,
    upstream: ports,
    clients: createClients({ core: cores.rest, file }),
    layers: await createLayerSettings(),
    async gateway(plan) {
      const places = { ...plan, port: await freePort(), adminPort: await freePort() }
      const config = file(`gateway-${files++}.yaml`, gatewayConfig(places))
      const line = [
        process.execPath,
        ...(plan.nodeFlags ?? []),
        entryPoint({ ...options, tree: plan.tree ?? options.tree }),
        'serve',
        config,
      ]
      return started.use(await startGatewayProcess({ ...pinned(cores.tested, line), env: plan.env ?? {} }, places))
    },
    scriptedRunner() {
      const keyFile = file('bench.key', 'b'.repeat(32))
      scripted ??= startProcess({
        ...pinned(cores.rest, [process.execPath, join(import.meta.dirname, 'scripted-runner.ts'), keyFile]),
        ready: /listening on (\d+)/,
      }).then((running) => ({ port: Number(started.use(running).readyMatch[1]), keyFile }))
      return scripted
    },
    nginx() {
      nginx ??= startNginx(dir, ports.json, cores.tested).then((running) => started.use(running))
      return nginx
    },
    async bare({ nodeFlags = [], env = {}, upstream = ports.json } = {}) {
      const port = await freePort()
      const script = [join(import.meta.dirname, 'bare-proxy.ts'), String(port), String(upstream)]
      const line = pinned(cores.tested, [process.execPath, ...nodeFlags, ...script])
      const running = started.use(await startProcess({ ...line, env, ready: /listening/ }))
      const dispose = () => running[Symbol.asyncDispose]()
      return { port, pid: running.pid, process: running, [Symbol.asyncDispose]: dispose }
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

async function startGatewayProcess(options: ProcessOptions, places: GatewayPlaces): Promise<RunningGateway> {
  const process = await startProcess({ ...options, politeMs: 10_000 })
  let ended = false
  void process.exit.then(() => {
    ended = true
  })
  const ready = `http://127.0.0.1:${places.adminPort}/healthz/ready`
  while ((await fetch(ready).catch(() => undefined))?.status !== 200) {
    if (ended) throw new Error(`the gateway did not start:\n${process.stdout}${process.stderr}`)
    await new Promise((done) => setTimeout(done, 100))
  }
  const { port, adminPort } = places
  return {
    port,
    adminPort,
    pid: process.pid,
    process,
    [Symbol.asyncDispose]: () => process[Symbol.asyncDispose](),
  }
}
