import { execFile } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { until } from '../support/gate.ts'
import { freePort } from '../support/ports.ts'
import { type RunningProcess, startProcess } from '../support/processes.ts'
import { createTempDir, type TempDir } from '../support/temp-dir.ts'
import { isOnPath } from './machine.ts'

/** The version of LiteLLM that is measured; pip fetches it once. */
export const liteLlmVersion = '1.108.7'

/** A chain of parts that anybody can install, running: nginx, and LiteLLM with Redis. */
export interface RealChain extends AsyncDisposable {
  readonly port: number
  readonly pids: readonly number[]
  /** LiteLLM's master key. */
  readonly token: string
}

/** Why it could not be started, in words. */
export interface Missing {
  readonly missing: string
}

const token = 'sk-bench'
const installWithinMs = 600_000
const upWithinMs = 180_000

/**
 * Starts nginx in front of LiteLLM in front of an engine. LiteLLM checks a key, keeps answers in Redis, counts in Redis and chooses by
 * weight; scopes, profiles, templates and output rules it does not have here. Else says which part cannot be had.
 */
export async function startRealChain(behind: { engine: number; redis: number }): Promise<RealChain | Missing> {
  const nginx = ['nginx', '/usr/sbin/nginx'].find(isOnPath)
  if (!nginx) return { missing: 'nginx is not installed' }
  const program = await installed()
  if (typeof program !== 'string') return program
  try {
    return await started({ ...behind, nginx, program })
  } catch (fault) {
    return { missing: `did not start: ${lastLineOf(fault)}` }
  }
}

interface Parts {
  readonly engine: number
  readonly redis: number
  readonly nginx: string
  readonly program: string
}

async function started({ engine, redis, nginx, program }: Parts): Promise<RealChain> {
  await using starting = new AsyncDisposableStack()
  const dir = starting.use(createTempDir())
  const inner = await freePort()
  const lite = starting.use(await startLiteLlm(program, { engine, redis, dir, port: inner }))
  await until(() => answers(inner, '/health/liveliness'), 'LiteLLM answers', upWithinMs)
  const front = await freePort()
  const file = dir.file('nginx.conf')
  writeFileSync(file, nginxConfig({ dir: dir.path, port: front, inner }))
  const proxy = starting.use(await startProcess({ command: nginx, args: ['-p', dir.path, '-e', 'stderr', '-c', file] }))
  await until(() => answers(front, '/health/liveliness'), 'nginx answers')
  const stack = starting.move()
  return { port: front, pids: [proxy.pid, lite.pid], token, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

/** The path of LiteLLM's program, installed by pip into a folder of its own when it is not there yet; else what went wrong. */
async function installed(): Promise<string | Missing> {
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache')
  const place = join(cache, 'foldgate-bench', `litellm-${liteLlmVersion}`)
  const program = join(place, 'bin', 'litellm')
  if (existsSync(join(place, 'complete'))) return program
  const run = promisify(execFile)
  try {
    await run('python3', ['-m', 'venv', '--clear', place])
    const wanted = `litellm[proxy]==${liteLlmVersion}`
    await run(join(place, 'bin', 'pip'), ['install', '--quiet', wanted], { timeout: installWithinMs })
    writeFileSync(join(place, 'complete'), `${wanted}\n`)
    return program
  } catch (fault) {
    rmSync(place, { recursive: true, force: true })
    return { missing: `LiteLLM ${liteLlmVersion} could not be installed: ${lastLineOf(fault)}` }
  }
}

const lastLineOf = (fault: unknown): string =>
  String((fault as Error).message)
    .trimEnd()
    .split('\n')
    .at(-1) ?? ''

interface LiteLlmPlaces {
  readonly dir: TempDir
  readonly port: number
  readonly engine: number
  readonly redis: number
}

function startLiteLlm(program: string, places: LiteLlmPlaces): Promise<RunningProcess> {
  const file = places.dir.file('litellm.yaml')
  writeFileSync(file, liteLlmConfig(places))
  const args = ['--config', file, '--host', '127.0.0.1', '--port', String(places.port), '--num_workers', '2']
  // Without these it fetches a price list, and logs every call.
  const env = { LITELLM_LOCAL_MODEL_COST_MAP: 'True', LITELLM_LOG: 'ERROR', NO_PROXY: '127.0.0.1' }
  return startProcess({ command: program, args, env, politeMs: 10_000 })
}

const answers = (port: number, path: string): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(5000) }).then(
    ({ status }) => status === 200,
    () => false,
  )

/** JSON is YAML. */
function liteLlmConfig({ engine, redis }: LiteLlmPlaces): string {
  const target = (model: string, weight: number) => ({
    model_name: 'bench',
    litellm_params: { model: `openai/${model}`, api_base: `http://127.0.0.1:${engine}/v1`, api_key: 'none', weight },
  })
  const at = { host: '127.0.0.1', port: redis }
  return JSON.stringify({
    model_list: [target('bench-large', 7), target('bench-small', 3)],
    router_settings: {
      routing_strategy: 'simple-shuffle',
      num_retries: 0,
      redis_host: at.host,
      redis_port: at.port,
      redis_password: '',
    },
    litellm_settings: { cache: true, cache_params: { type: 'redis', ttl: 300, ...at } },
    general_settings: { master_key: token },
  })
}

function nginxConfig({ dir, port, inner }: { dir: string; port: number; inner: number }): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (each) => `${each}_temp_path ${dir}/${each};`,
  )
  return `${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off;
worker_processes 1;
pid ${dir}/nginx.pid;
error_log stderr crit;
events { worker_connections 4096; }
http {
  access_log off;
  keepalive_requests 100000000;
  client_max_body_size 1m;
  client_body_buffer_size 64k;
  limit_req_zone $http_authorization zone=callers:1m rate=10000r/s;
  ${temporary.join('\n  ')}
  upstream litellm { server 127.0.0.1:${inner}; keepalive 256; }
  server {
    listen 127.0.0.1:${port};
    location / {
      limit_req zone=callers burst=1000 nodelay;
      proxy_pass http://litellm;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header X-Request-Id $request_id;
      proxy_read_timeout 60s;
    }
  }
}
`
}
