import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { until } from '../support/gate.ts'
import { freePort } from '../support/ports.ts'
import { startProcess } from '../support/processes.ts'
import { createTempDir } from '../support/temp-dir.ts'
import type { Edge } from './edge.ts'

const program = ['nginx', '/usr/sbin/nginx'].find((command) => {
  try {
    execFileSync(command, ['-v'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})

/** True where there is an nginx to start; for `describe.skipIf(!nginxAvailable)`. */
export const nginxAvailable: boolean = program !== undefined

/** Starts nginx in front of something, with these lines in its `location`; `/own-error` is a page of its own. */
export async function startNginxEdge(target: string, lines: readonly string[] = []): Promise<Edge> {
  const dir = createTempDir()
  const port = await freePort()
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (each) => `${each}_temp_path ${dir.path}/${each};`,
  )
  const file = dir.file('nginx.conf')
  const location = [`proxy_pass ${target};`, ...lines].join('\n      ')
  writeFileSync(
    file,
    `${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off; worker_processes 1; pid ${dir.path}/nginx.pid; error_log stderr crit;
events { worker_connections 64; }
http {
  access_log off;
  ${temporary.join('\n  ')}
  server { listen 127.0.0.1:${port};
    location = /own-error { internal; default_type text/html; return 200 "<h1>an error</h1>"; }
    location / {
      ${location}
    }
  }
}
`,
  )
  const running = await startProcess({ command: program as string, args: ['-p', dir.path, '-e', 'stderr', '-c', file] })
  const url = `http://127.0.0.1:${port}`
  const up = (): Promise<boolean> =>
    fetch(`${url}/none`).then(
      (reply) => reply.ok || reply.status > 0,
      () => false,
    )
  await until(up, () => `nginx listens: ${running.stderr}`)
  return {
    url,
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]()
      await dir[Symbol.asyncDispose]()
    },
  }
}
