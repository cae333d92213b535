import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { entry } from '../../proxy/cli/test-command.ts'
import { freePort } from '../support/ports.ts'
import { startProcess } from '../support/processes.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { container, helmAvailable, only, render } from './chart.ts'
import { configText } from './mounted.ts'

const run = promisify(execFile)

describe.skipIf(!helmAvailable)('the pod’s own scripts', () => {
  test('the token that a pod makes lets its hook drain its gateway, and what waits is let go', {
    timeout: 60_000,
  }, async () => {
    await using dir = createTempDir()
    mkdirSync(dir.file('run'))
    writeFileSync(dir.file('foldgate'), `#!/bin/sh\nexec ${process.execPath} ${entry} "$@"\n`)
    chmodSync(dir.file('foldgate'), 0o755)
    const port = await freePort()
    const config = { listen: { host: '127.0.0.1', port: 0 }, admin: { port }, drain: { delayMs: 50, graceMs: 1_000 } }
    const objects = await render({ mode: 'sidecar', gateway: { config } })
    const pod = only(objects, 'Deployment')
    const here = (text: string) => text.replaceAll('/run/foldgate/', `${dir.path}/run/`)
    const env = { ...process.env, PATH: `${dir.path}:${process.env['PATH']}`, FOLDGATE__ADMIN__HOST: '127.0.0.1' }
    const shell = ([command, ...args]: string[]) => run(command!, args.map(here), { env })

    // Twice: a pod whose sandbox is made anew runs it again.
    await shell(container(pod, 'drain-token').command)
    const { stdout } = await shell(container(pod, 'drain-token').command)
    expect(stdout).toBe('')
    expect(statSync(dir.file('run/drain.token')).mode & 0o777).toBe(0o600)

    writeFileSync(dir.file('gateway.yaml'), here(configText(objects)))
    await using gateway = await startProcess({
      args: [entry, 'serve', dir.file('gateway.yaml')],
      env,
      ready: /"admin":"(http:[^"]+)"/,
    })
    const admin = gateway.readyMatch[1]
    const probe = container(pod, 'gateway').readinessProbe.httpGet
    expect(probe.port).toBe(port)
    expect((await fetch(`${admin}${probe.path}`)).status).toBe(200)
    await shell(container(pod, 'gateway').lifecycle.preStop.exec.command)
    expect((await fetch(`${admin}${probe.path}`)).status).toBe(503)
    const waits = container(pod, 'runner').lifecycle.preStop.httpGet
    expect(await (await fetch(`${admin}${waits.path}`)).json()).toEqual({ drained: true, inFlight: 0 })
    await gateway.shows(/"by":"drain","reason":"the pod is leaving"/)
    gateway.signal('SIGTERM')
    expect(await gateway.exit).toEqual({ code: 0, signal: null })
  })

  test('the hook puts an IPv6 address into brackets', async () => {
    await using dir = createTempDir()
    writeFileSync(dir.file('foldgate'), '#!/bin/sh\necho "$3"\n')
    chmodSync(dir.file('foldgate'), 0o755)
    const [command, ...args] = container(only(await render({}), 'Deployment'), 'gateway').lifecycle.preStop.exec.command
    const admin = async (host: string) => {
      const env = { PATH: `${dir.path}:${process.env['PATH']}`, FOLDGATE__ADMIN__HOST: host }
      return (await run(command, args, { env })).stdout
    }
    expect(await admin('fd00::7')).toBe('http://[fd00::7]:9901\n')
    expect(await admin('10.0.0.7')).toBe('http://10.0.0.7:9901\n')
  })

  test('the test of a release fails on an error of the server, and on nothing less', async () => {
    const { command } = container(only(await render({}), 'Pod', '-test'), 'test')
    expect(command.at(-1)).toBe('http://r-foldgate:80/v1/models')
    const { createServer } = await import('node:http')
    const server = createServer(({ url }, response) => response.writeHead(Number(url?.slice(1))).end()).listen(0)
    const { port } = server.address() as { port: number }
    const asked = (status: number) =>
      run(process.execPath, [...command.slice(1, -1), `http://127.0.0.1:${port}/${status}`]).then(
        () => 0,
        (error: { code: number }) => error.code,
      )
    expect(await Promise.all([asked(200), asked(401), asked(503)])).toEqual([0, 0, 1])
    server.close()
  })
})
