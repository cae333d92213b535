import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import manifest from './engines/native-lock/package.json' with { type: 'json' }
import lock from './engines/native-lock/package-lock.json' with { type: 'json' }
import { binariesFor, ensureNative, lockFor, nativeVersion } from './install.ts'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'install-'))
  vi.stubEnv('npm_execpath', '')
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true })
})

/** An npm that makes the folders of the packages in the lock file, or fails. */
async function fakeNpm(then: string): Promise<() => Promise<string>> {
  const bin = join(folder, 'bin')
  const asked = join(folder, 'asked')
  await mkdir(bin)
  await writeFile(asked, '')
  const make = `grep -o '"node_modules/@node-llama-cpp/[^"]*"' package-lock.json | tr -d '"' | while read p; do mkdir -p "$p"; done`
  await writeFile(join(bin, 'npm'), `#!/bin/sh\necho "$1 $npm_config_omit" >> "${asked}"\n${make}\n${then}\n`)
  await writeFile(join(bin, 'nvidia-smi'), '#!/bin/sh\nexit 9\n')
  for (const name of ['npm', 'nvidia-smi']) await chmod(join(bin, name), 0o755)
  vi.stubEnv('PATH', `${bin}${delimiter}${process.env['PATH']}`)
  return () => readFile(asked, 'utf8')
}

it('runners that start together install once, and a later one not at all', async () => {
  vi.stubEnv('npm_config_omit', 'optional')
  const asked = await fakeNpm('exit 0')
  const options = { cacheFolder: folder }
  const all = await Promise.all([1, 2, 3].map(() => ensureNative(options)))
  expect(new Set([...all, await ensureNative(options)]).size).toBe(1)
  expect(await asked()).toBe('ci \n')
  expect(await readdir(join(folder, 'native'))).toEqual([all[0]!.split('/').at(-1)])
  const installed: any = JSON.parse(await readFile(join(all[0]!, 'package-lock.json'), 'utf8'))
  expect(Object.keys(installed.packages).filter((path) => path.includes('@node-llama-cpp/'))).toHaveLength(1)
})

it('an install that fails says why and leaves nothing behind', async () => {
  await fakeNpm('echo "no network" >&2; exit 3')
  await expect(ensureNative({ cacheFolder: folder })).rejects.toMatchObject({
    code: 'native_unavailable',
    message: expect.stringContaining('no network'),
  })
  expect(await readdir(join(folder, 'native'))).toEqual([])
})

it('an install that brought no binary for this machine is refused', async () => {
  await fakeNpm('rm -rf node_modules')
  await expect(ensureNative({ cacheFolder: folder })).rejects.toThrow(/no binary that fits this machine/)
})

it('a machine gets its own binaries, and those for CUDA only where there is a driver', () => {
  expect(binariesFor('linux', 'x64', false)).toEqual(['linux-x64'])
  expect(binariesFor('linux', 'x64', true)).toEqual(['linux-x64', 'linux-x64-cuda'])
  expect(binariesFor('linux', 'arm64', true)).toEqual(['linux-arm64'])
  expect(binariesFor('darwin', 'arm64', false)).toEqual(['mac-arm64-metal'])
  expect(() => binariesFor('sunos', 'x64', false)).toThrow(expect.objectContaining({ code: 'native_unavailable' }))
})

it('the lock file pins one version everywhere, with a digest for each package and no address of any', () => {
  const packages: Record<string, any> = lock.packages
  expect(packages[''].dependencies).toEqual(manifest.dependencies)
  expect(packages['node_modules/node-llama-cpp'].version).toBe(nativeVersion)
  for (const [path, entry] of Object.entries(packages).filter(([key]) => key !== '')) {
    expect(entry.integrity, path).toMatch(/^sha512-/)
    expect(entry.resolved, path).toBeUndefined()
    if (path.includes('@node-llama-cpp/')) expect(entry.version, path).toBe(nativeVersion)
  }
  for (const [platform, arch] of [
    ['linux', 'x64'],
    ['linux', 'arm64'],
    ['darwin', 'arm64'],
    ['darwin', 'x64'],
    ['win32', 'x64'],
  ] as const)
    for (const name of binariesFor(platform, arch, true))
      expect(Object.keys(packages)).toContain(`node_modules/@node-llama-cpp/${name}`)
})

it('a lock file for one machine holds its binary and everything that is not a binary', () => {
  const some = lockFor(lock, ['linux-x64']).packages
  const gone = Object.keys(lock.packages).filter((path) => !(path in some))
  expect(gone.length).toBeGreaterThan(5)
  expect(gone.every((path) => path.startsWith('node_modules/@node-llama-cpp/'))).toBe(true)
  expect((some['node_modules/node-llama-cpp'] as any).optionalDependencies).toEqual({
    '@node-llama-cpp/linux-x64': nativeVersion,
  })
})
