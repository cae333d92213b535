import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import manifest from './engines/native-lock/package.json' with { type: 'json' }
import lock from './engines/native-lock/package-lock.json' with { type: 'json' }
import { defaultCacheFolder } from './fetching/cache-folder.ts'
import { runCommand } from './fetching/command.ts'
import { withLock } from './fetching/lock.ts'
import type { FetchOptions } from './model.ts'
import { refusal } from './refusal.ts'

/** The pinned version of node-llama-cpp. */
export const nativeVersion: string = manifest.dependencies['node-llama-cpp']

const scope = '@node-llama-cpp/'

const platforms: Readonly<Record<string, string>> = {
  'linux-x64': 'linux-x64',
  'linux-arm64': 'linux-arm64',
  'linux-arm': 'linux-armv7l',
  'linux-riscv64': 'linux-riscv64',
  'darwin-arm64': 'mac-arm64-metal',
  'darwin-x64': 'mac-x64',
  'win32-x64': 'win-x64',
  'win32-arm64': 'win-arm64',
}

/** A lock file, as far as it matters here (npm's lockfileVersion 3). */
export interface LockFile {
  readonly packages: Readonly<Record<string, object>>
}

/**
 * The binary packages a machine needs: its platform's, and the CUDA one where there is a driver. Throws
 * `native_unavailable` for a platform without binaries.
 */
export function binariesFor(platform: string, arch: string, cuda: boolean): string[] {
  const name = platforms[`${platform}-${arch}`]
  if (name === undefined) throw refusal('native_unavailable', `node-llama-cpp has no binaries for ${platform}-${arch}`)
  return cuda && name.endsWith('-x64') && platform !== 'darwin' ? [name, `${name}-cuda`] : [name]
}

/** The lock file with only the wanted binary packages in it: the others are hundreds of megabytes for other machines. */
export function lockFor(whole: LockFile, binaries: readonly string[]): LockFile {
  const wanted = new Set(binaries.map((name) => scope + name))
  const isWanted = (name: string): boolean => !name.startsWith(scope) || wanted.has(name)
  const kept = Object.entries(whole.packages).filter(([path]) => isWanted(path.replace(/^node_modules\//, '')))
  const packages = kept.map(([path, entry]) => {
    if (path !== 'node_modules/node-llama-cpp' || !('optionalDependencies' in entry)) return [path, entry]
    const optional = Object.entries(entry.optionalDependencies as object).filter(([name]) => isWanted(name))
    return [path, { ...entry, optionalDependencies: Object.fromEntries(optional) }]
  })
  return { ...whole, packages: Object.fromEntries(packages) }
}

/** npm's own settings of the run that started us must not reach this one: it has a folder and wishes of its own. */
function npmEnvironment(): NodeJS.ProcessEnv {
  const foreign =
    /^(INIT_CWD|npm_(lifecycle|package|command|config_(local_prefix|prefix|omit|include|workspace|workspaces|global|only|production|ignore_scripts|package_lock|dry_run))(_.*)?)$/i
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)))
}

function npmCommand(): [string, ...string[]] {
  const script = process.env['npm_execpath']
  return script?.endsWith('npm-cli.js') ? [process.execPath, script] : ['npm']
}

async function install(folder: string, binaries: readonly string[], log: (line: string) => void): Promise<void> {
  const staging = `${folder}.installing`
  const startedAt = performance.now()
  try {
    // The lock is ours: what lies here was left by a process that was killed.
    await rm(staging, { recursive: true, force: true })
    await mkdir(staging, { recursive: true })
    await writeFile(join(staging, 'package.json'), JSON.stringify(manifest))
    await writeFile(join(staging, 'package-lock.json'), JSON.stringify(lockFor(lock, binaries)))
    log(`installing node-llama-cpp ${nativeVersion} (${binaries.join(', ')}), once, into ${folder}`)
    const [command, ...first] = npmCommand()
    // The binaries are ready in their packages: no script of any of them has to run.
    const args = [
      'ci',
      '--prefix',
      staging,
      '--include=optional',
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      '--loglevel=error',
    ]
    const onWait = (seconds: number): void => log(`still installing node-llama-cpp (${seconds} s)`)
    const { code, tail } = await runCommand(command, [...first, ...args], {
      cwd: staging,
      env: npmEnvironment(),
      onWait,
    })
    if (code === undefined) throw refusal('native_unavailable', 'node-llama-cpp cannot be installed: npm is not there')
    if (code !== 0)
      throw refusal('native_unavailable', `node-llama-cpp cannot be installed: npm ended with ${code}: ${tail}`)
    for (const name of binaries)
      await stat(join(staging, 'node_modules', scope, name)).catch(() => {
        throw refusal(
          'native_unavailable',
          `node-llama-cpp has no binary that fits this machine (${name} was left out)`,
        )
      })
    await rename(staging, folder)
    log(`installed node-llama-cpp in ${Math.round((performance.now() - startedAt) / 1000)} s`)
  } finally {
    await rm(staging, { recursive: true, force: true })
  }
}

/**
 * The folder whose `node_modules` holds node-llama-cpp, installed first when it is not there: from the committed lock
 * file, so every version and digest is pinned. Runners that start together install once. Throws `native_unavailable`.
 */
export async function ensureNative(options: FetchOptions = {}): Promise<string> {
  const log = options.log ?? (() => undefined)
  const { code } = await runCommand('nvidia-smi', ['-L'])
  const binaries = binariesFor(process.platform, process.arch, code === 0)
  const parent = join(options.cacheFolder ?? defaultCacheFolder(), 'native')
  const folder = join(parent, `${nativeVersion}-${binaries.join('-')}`)
  const isThere = (): Promise<boolean> =>
    stat(folder).then(
      () => true,
      () => false,
    )
  if (await isThere()) return folder
  const onWait = (holder: string): void => log(`waiting for ${holder}, which installs node-llama-cpp`)
  const work = async (): Promise<void> => {
    if (!(await isThere())) await install(folder, binaries, log)
  }
  await withLock(`${folder}.lock`, work, { onWait })
  return folder
}
