import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { cpus } from 'node:os'

/** Which core the process under test gets and which one everything around it; undefined where processes cannot be pinned. */
export interface Cores {
  readonly tested: number | undefined
  readonly rest: number | undefined
}

/** The first allowed core for what is tested and the last one for the rest. With one core, or without taskset, nothing is pinned. */
export function coresOfMachine(): Cores {
  const allowed = /^Cpus_allowed_list:\s*(\S+)/m.exec(readText('/proc/self/status'))?.[1] ?? ''
  const cores = allowed.split(',').flatMap((range) => {
    const [from = 0, to = from] = range.split('-').map(Number)
    return Array.from({ length: to - from + 1 }, (_, index) => from + index)
  })
  if (cores.length < 2 || !isOnPath('taskset')) return { tested: undefined, rest: undefined }
  return { tested: cores[0], rest: cores.at(-1) }
}

/** A command line that runs on one core. */
export function pinned(core: number | undefined, command: readonly string[]): { command: string; args: string[] } {
  const line = core === undefined ? command : ['taskset', '-c', String(core), ...command]
  return { command: line[0] as string, args: line.slice(1) }
}

/** True when a program of this name can be started. */
export function isOnPath(program: string): boolean {
  try {
    execFileSync('/bin/sh', ['-c', `command -v ${program}`], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const ticksASecond = 100

/** Seconds of CPU that a process and its children have used so far, in user and kernel. Resolution: 10 ms. */
export function cpuSeconds(pid: number): number {
  return familyOf(pid).reduce((sum, each) => {
    // After the name, which is in brackets and may hold anything: state is field 3, utime 14, stime 15.
    const fields = readText(`/proc/${each}/stat`)
      .replace(/^.*\) /s, '')
      .split(' ')
    return sum + (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / ticksASecond
  }, 0)
}

/** Seconds of CPU of the threads of a process, by the name of the thread; threads of one name are added up. */
export function cpuSecondsByThread(pid: number): Map<string, number> {
  const seconds = new Map<string, number>()
  for (const thread of threadsOf(pid)) {
    const [, name = '', rest = ''] = /\((.*)\) (.*)$/s.exec(readText(`/proc/${pid}/task/${thread}/stat`)) ?? []
    const fields = rest.split(' ')
    const used = (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / ticksASecond
    const role = thread === String(pid) ? 'main thread' : name
    seconds.set(role, (seconds.get(role) ?? 0) + used)
  }
  return seconds
}

/** Bytes of a process that are in memory. */
export function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readText(`/proc/${pid}/status`))?.[1]
  return Number(kilobytes ?? Number.NaN) * 1024
}

function familyOf(pid: number): number[] {
  const children = threadsOf(pid).flatMap((thread) =>
    readText(`/proc/${pid}/task/${thread}/children`).split(' ').filter(Boolean).map(Number),
  )
  return [pid, ...children.flatMap(familyOf)]
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** What a reader must know of the machine to judge the numbers. */
export function machineInWords({ tested, rest }: Cores): string {
  const model = cpus()[0]?.model ?? 'unknown CPU'
  const pins = tested === undefined ? 'not pinned' : `under test on core ${tested}, the rest on core ${rest}`
  const [load = '?'] = readText('/proc/loadavg').split(' ')
  return `${cpus().length} × ${model}, Node ${process.version}, ${pins}, load before ${load}`
}
