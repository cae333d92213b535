/** A CPU profile as V8 writes it. */
export interface CpuProfile {
  readonly nodes: readonly ProfileNode[]
  readonly samples: readonly number[]
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[]
}

/** One place in the tree of calls. */
export interface ProfileNode {
  readonly id: number
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  readonly children?: readonly number[]
  /** Samples by line of the function. */
  readonly positionTicks?: readonly { readonly line: number; readonly ticks: number }[]
}

/** One function, or a group of them: shares of the time in which the process was busy. */
export interface Share {
  readonly name: string
  /** In the function itself. */
  readonly self: number
  /** In it and in all that it called. */
  readonly inclusive: number
}

/** The functions of a profile and the rooms they belong to, each with what it took. */
export interface ProfileShares {
  readonly functions: readonly Share[]
  readonly rooms: readonly Share[]
  /** Lines of functions, by what was sampled in them; what they call is not in it. */
  readonly lines: readonly Share[]
  /** Share of the time in which the process waited. */
  readonly idle: number
}

/** Adds a profile up. `root` is cut off from file names. */
export function sharesOf(profile: CpuProfile, root: string): ProfileShares {
  const selfTime = selfTimes(profile)
  const parents = parentsOf(profile)
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]))
  const idle = sum(profile.nodes.filter(isIdle).map(({ id }) => selfTime.get(id) ?? 0))
  const busy = sum([...selfTime.values()]) - idle
  const add = (nameOf: (node: ProfileNode) => string): Share[] => {
    const self = new Map<string, number>()
    const inclusive = new Map<string, number>()
    for (const [id, time] of selfTime) {
      const node = nodes.get(id)
      if (!node || isIdle(node)) continue
      grow(self, nameOf(node), time)
      // Once each, however often a function is on the stack.
      const above = new Set<string>()
      for (let at: ProfileNode | undefined = node; at; at = nodes.get(parents.get(at.id) ?? -1)) above.add(nameOf(at))
      for (const name of above) grow(inclusive, name, time)
    }
    return [...inclusive].map(([name, time]) => ({ name, self: (self.get(name) ?? 0) / busy, inclusive: time / busy }))
  }
  return {
    functions: add((node) => functionName(node, root)),
    rooms: add((node) => roomOf(node, root)),
    lines: linesOf(profile, root),
    idle: idle / (idle + busy),
  }
}

function linesOf({ nodes }: CpuProfile, root: string): Share[] {
  const ticks = new Map<string, number>()
  let all = 0
  for (const node of nodes) {
    if (isIdle(node)) continue
    for (const { line, ticks: here } of node.positionTicks ?? []) {
      all += here
      if (node.callFrame.url) grow(ticks, `${fileOf(node, root)}:${line}`, here)
    }
  }
  return [...ticks].map(([name, here]) => ({ name, self: here / all, inclusive: here / all }))
}

function selfTimes({ samples, timeDeltas }: CpuProfile): Map<number, number> {
  const times = new Map<number, number>()
  for (const [index, id] of samples.entries()) grow(times, id, Math.max(0, timeDeltas[index + 1] ?? 0))
  return times
}

function parentsOf({ nodes }: CpuProfile): Map<number, number> {
  return new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)))
}

function grow<Key>(map: Map<Key, number>, key: Key, by: number): void {
  map.set(key, (map.get(key) ?? 0) + by)
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0)
const isIdle = ({ callFrame }: ProfileNode): boolean => callFrame.functionName === '(idle)'

function fileOf({ callFrame: { url } }: ProfileNode, root: string): string {
  return url.replace(/^file:\/\//, '').replace(`${root}/`, '')
}

function functionName(node: ProfileNode, root: string): string {
  const { functionName: name, url, lineNumber } = node.callFrame
  return url ? `${name || '(anonymous)'} ${fileOf(node, root)}:${lineNumber + 1}` : name || '(anonymous)'
}

/** Where time goes, coarsely: a layer, the gateway's own files, a library, Node's, or V8 itself. */
function roomOf(node: ProfileNode, root: string): string {
  const { functionName: name, url } = node.callFrame
  if (!url) return name === '(garbage collector)' || name === '(program)' ? name : 'built in'
  if (url.startsWith('node:')) return url.replace(/^(node:(?:internal\/)?[^/]+).*/, '$1')
  const file = fileOf(node, root)
  const library = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1]
  if (library) return library
  return /^(?:dist\/)?(plugins\/[^/.]+)\//.exec(file)?.[1] ?? file
}
