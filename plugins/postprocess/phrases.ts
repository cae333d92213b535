/**
 * Aho, Corasick: Efficient string matching (CACM 18, 1975), over UTF-16 code units. The tree is kept in flat arrays with failure links, so
 * memory is linear in the phrases whatever their alphabet, and a text costs a bounded number of steps a unit, whatever the phrases.
 */
export interface PhraseTree {
  /** The longest phrase, in UTF-16 code units. */
  readonly longest: number
  /** The state after one more unit. State 0 is the start: no phrase is under way. */
  next(state: number, unit: number): number
  /** How many units at the end of the text so far begin a phrase that has not ended: what may not leave yet. */
  pending(state: number): number
  /** The numbers of the phrases that end here, in the order they were given; empty for nearly every state. */
  ending(state: number): readonly number[]
}

/** How phrases are compared: byte for byte, or with the ASCII letters folded. Both seats of the layer read these names alike. */
export type PhraseSemantics = 'literal/1' | 'literal-ascii-ci/1'

interface Node {
  readonly depth: number
  /** The depth of the longest suffix that can still go on. */
  pending: number
  /** The first edge, as most nodes have one only; -1 for none. */
  unit: number
  to: number
  more: Map<number, number> | undefined
  fail: number
  own: number[]
}

/** Makes the {@link PhraseTree} of phrases. Empty phrases match nothing. Linear in their total length. */
export function createPhraseTree(phrases: readonly string[], semantics: PhraseSemantics): PhraseTree {
  const fold = semantics === 'literal-ascii-ci/1'
  const nodes: Node[] = [leaf(0)]
  for (const [number, phrase] of phrases.entries()) {
    if (phrase) addPhrase(nodes, fold ? foldAscii(phrase) : phrase, number)
  }
  link(nodes)
  return walker(nodes, fold)
}

/** ASCII capitals as small letters; nothing else changes, and no length does. */
export function foldAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

const leaf = (depth: number): Node => ({ depth, pending: depth, unit: -1, to: 0, more: undefined, fail: 0, own: [] })

/** Where an edge leads; 0, the start, when there is none. */
function follow(node: Node, unit: number): number {
  return node.unit === unit ? node.to : (node.more?.get(unit) ?? 0)
}

function addEdge(node: Node, unit: number, to: number): void {
  if (node.unit === -1) {
    node.unit = unit
    node.to = to
  } else {
    node.more ??= new Map()
    node.more.set(unit, to)
  }
}

function addPhrase(nodes: Node[], phrase: string, number: number): void {
  let at = nodes[0] as Node
  for (let i = 0; i < phrase.length; i++) {
    const unit = phrase.charCodeAt(i)
    let to = follow(at, unit)
    if (to === 0) {
      to = nodes.push(leaf(i + 1)) - 1
      addEdge(at, unit, to)
    }
    at = nodes[to] as Node
  }
  at.own.push(number)
}

/** Sets each node's failure link: the longest proper suffix that is itself in the tree. Breadth first. */
function link(nodes: readonly Node[]): void {
  const start = nodes[0] as Node
  const queue = [start]
  for (let i = 0; i < queue.length; i++) {
    const from = queue[i] as Node
    const reach = (to: number, unit: number): void => {
      const node = nodes[to] as Node
      queue.push(node)
      if (from !== start) linkNode(nodes, node, { from, unit })
      // Where nothing goes on, only a suffix can.
      if (node.unit === -1) node.pending = (nodes[node.fail] as Node).pending
    }
    if (from.unit !== -1) reach(from.to, from.unit)
    from.more?.forEach(reach)
  }
}

function linkNode(nodes: readonly Node[], node: Node, edge: { from: Node; unit: number }): void {
  const start = nodes[0] as Node
  let at = nodes[edge.from.fail] as Node
  while (at !== start && follow(at, edge.unit) === 0) at = nodes[at.fail] as Node
  node.fail = follow(at, edge.unit)
  const { own } = nodes[node.fail] as Node
  if (own.length > 0) node.own = [...node.own, ...own].sort((a, b) => a - b)
}

function walker(nodes: readonly Node[], fold: boolean): PhraseTree {
  const start = nodes[0] as Node
  // Nearly all text is met in state 0, so its ASCII edges are an array; the others are looked up.
  const ascii = Int32Array.from({ length: 128 }, (_, unit) => follow(start, unit))
  return {
    longest: nodes.reduce((most, { depth }) => Math.max(most, depth), 0),
    next(state, given) {
      const unit = fold && given >= 0x41 && given <= 0x5a ? given + 0x20 : given
      let at = state
      while (at !== 0) {
        const node = nodes[at] as Node
        const to = follow(node, unit)
        if (to !== 0) return to
        at = node.fail
      }
      return unit < 128 ? (ascii[unit] as number) : follow(start, unit)
    },
    pending: (state) => nodes[state]?.pending ?? 0,
    ending: (state) => (nodes[state] as Node).own,
  }
}
