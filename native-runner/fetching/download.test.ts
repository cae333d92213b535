import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { downloadFile } from './download.ts'

const bytes = Buffer.from('0123456789'.repeat(50_000))
let folder = ''
let target = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'download-'))
  target = join(folder, 'model.gguf')
})
afterEach(() => rm(folder, { recursive: true }))

async function serve(answer: (request: IncomingMessage, response: ServerResponse, nth: number) => unknown) {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => answer(request, response, requests.push(request)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/m`, requests, [Symbol.asyncDispose]: close }
}

const fetching = (url: string) => downloadFile({ url, target, label: 'model', retryDelayMs: 1 })

it('a transfer that broke goes on where it broke', async () => {
  await using server = await serve((request, response, nth) => {
    const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0)
    const headers = { etag: '"v1"', 'content-length': bytes.length - from }
    const range = { 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` }
    response.writeHead(from > 0 ? 206 : 200, from > 0 ? { ...headers, ...range } : headers)
    if (nth > 1) return response.end(bytes.subarray(from))
    response.write(bytes.subarray(0, 200_000))
    return vi
      .waitFor(async () => expect((await stat(`${target}.part`)).size).toBeGreaterThan(0))
      .finally(() => response.socket?.destroy())
  })
  await fetching(server.url)
  expect((await readFile(target)).equals(bytes)).toBe(true)
  expect(server.requests[1]?.headers['if-range']).toBe('"v1"')
  expect(Number(/bytes=(\d+)-/.exec(server.requests[1]?.headers.range ?? '')?.[1])).toBeGreaterThan(0)
  expect(await readdir(folder)).toEqual(['model.gguf'])
})

it('a file that changed in between starts anew', async () => {
  await using server = await serve((_request, response, nth) => {
    response.writeHead(200, { etag: `"v${nth}"`, 'content-length': bytes.length })
    if (nth === 1) response.write(Buffer.alloc(1000), () => response.socket?.destroy())
    else response.end(bytes)
  })
  await fetching(server.url)
  expect((await readFile(target)).equals(bytes)).toBe(true)
})

it('a file that is not there is refused at once, with its address', async () => {
  await using server = await serve((_request, response) => response.writeHead(404).end())
  await expect(fetching(server.url)).rejects.toThrow(`${server.url} answered 404`)
  expect(server.requests).toHaveLength(1)
})

it('a server that always fails is given up after the retries', async () => {
  await using server = await serve((_request, response) => response.writeHead(500).end())
  await expect(fetching(server.url)).rejects.toThrow(/cannot be fetched/)
  expect(server.requests).toHaveLength(6)
})
