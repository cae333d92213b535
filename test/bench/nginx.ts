import { writeFileSync } from 'node:fs'
import { freePort } from '../support/ports.ts'
import { type RunningProcess, startProcess } from '../support/processes.ts'
import type { TempDir } from '../support/temp-dir.ts'
import { isOnPath, pinned } from './machine.ts'

/** nginx as a plain proxy in front of an upstream, with one worker. */
export interface Nginx extends AsyncDisposable {
  readonly pid: number
  /** A bare `proxy_pass`, as nginx comes: a connection to the upstream for each call. */
  readonly plain: number
  /** With connections to the upstream kept open. */
  readonly kept: number
}

/** Starts nginx in a directory; undefined where there is none. */
export async function startNginx(dir: TempDir, upstream: number, core: number | undefined): Promise<Nginx | undefined> {
  const program = ['nginx', '/usr/sbin/nginx'].find(isOnPath)
  if (!program) return undefined
  const [plain, kept] = [await freePort(), await freePort()]
  const file = dir.file('nginx.conf')
  writeFileSync(file, configOf({ dir: dir.path, upstream, plain, kept }))
  const command = [program, '-p', dir.path, '-e', 'stderr', '-c', file]
  const running: RunningProcess = await startProcess({ ...pinned(core, command) })
  await listening(plain, running)
  return { pid: running.pid, plain, kept, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() }
}

async function listening(port: number, { exit }: RunningProcess): Promise<void> {
  let ended = false
  void exit.then(() => {
    ended = true
  })
  for (;;) {
    if (ended) throw new Error('nginx ended before it listened')
    const up = await fetch(`http://127.0.0.1:${port}/none`).then(
      () => true,
      () => false,
    )
    if (up) return
    await new Promise((done) => setTimeout(done, 50))
  }
}

interface Places {
  readonly dir: string
  readonly upstream: number
  readonly plain: number
  readonly kept: number
}

function configOf({ dir, upstream, plain, kept }: Places): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (each) => `${each}_temp_path ${dir}/${each};`,
  )
  return `${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off;
worker_processes 1;
pid ${dir}/nginx.pid;
error_log stderr crit;
events { worker_connections 8192; }
http {
  access_log off;
  keepalive_requests 100000000;
  ${temporary.join('\n  ')}
  upstream kept { server 127.0.0.1:${upstream}; keepalive 512; }
  server { listen 127.0.0.1:${plain}; location / { proxy_pass http://127.0.0.1:${upstream}; } }
  server {
    listen 127.0.0.1:${kept};
    location / { proxy_pass http://kept; proxy_http_version 1.1; proxy_set_header Connection ""; }
  }
}
`
}
