/**
 * Aho, Corasick: Efficient string matching (CACM 18, 1975), over UTF-16 code units. The tree is kept in flat arrays with failure links, so
 * memory is linear in the phrases whatever their alphabet, and a text costs a bounded number of steps a unit, whatever the phrases.
 */
export interface PhraseTree {
  /** The longest phrase, in UTF-16 code units. */
  readonly longest: number
  /** The state after one more unit. State 0 is the start: no phrase is under way. */
  next(state: number, unit: number): number
  /** How many units at the end of the text so far begin some phrase: what may not leave yet. */
  depth(state: number): number
  /** The numbers of the phrases that end here, in the order they were given; empty for nearly every state. */
  ending(state: number): readonly number[]
}

/** How phrases are compared: byte for byte, or with the ASCII letters folded. Both seats of the layer read these names alike. */
export type PhraseSemantics = 'literal/1' | 'literal-ascii-ci/1'

interface Node {
  readonly edges: Map<number, number>
  readonly depth: number
  readonly own: number[]
  fail: number
}

/** Makes the {@link PhraseTree} of phrases. Empty phrases match nothing. Linear in their total length. */
export function createPhraseTree(phrases: readonly string[], semantics: PhraseSemantics): PhraseTree {
  const fold = semantics === 'literal-ascii-ci/1'
  const nodes: Node[] = [{ edges: new Map(), depth: 0, own: [], fail: 0 }]
  for (const [number, phrase] of phrases.entries())
    if (phrase) addPhrase(nodes, fold ? foldAscii(phrase) : phrase, number)
  link(nodes)
  return walker(nodes, fold)
}

/** ASCII capitals as small letters; nothing else changes, and no length does. */
export function foldAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

function addPhrase(nodes: Node[], phrase: string, number: number): void {
  let at = 0
  for (let i = 0; i < phrase.length; i++) {
    const unit = phrase.charCodeAt(i)
    const node = nodes[at] as Node
    let to = node.edges.get(unit)
    if (to === undefined) {
      to = nodes.push({ edges: new Map(), depth: i + 1, own: [], fail: 0 }) - 1
      node.edges.set(unit, to)
    }
    at = to
  }
  nodes[at]?.own.push(number)
}

/** Sets each node's failure link: the longest proper suffix that is itself in the tree. Breadth first. */
function link(nodes: readonly Node[]): void {
  const queue = [...(nodes[0] as Node).edges.values()]
  for (let i = 0; i < queue.length; i++) {
    const from = nodes[queue[i] as number] as Node
    for (const [unit, to] of from.edges) {
      const node = nodes[to] as Node
      let fail = from.fail
      while (fail !== 0 && !nodes[fail]?.edges.has(unit)) fail = nodes[fail]?.fail ?? 0
      node.fail = nodes[fail]?.edges.get(unit) ?? 0
      const inherited = (nodes[node.fail] as Node).own
      if (inherited.length > 0) node.own.push(...inherited)
      queue.push(to)
    }
  }
}

function walker(nodes: readonly Node[], fold: boolean): PhraseTree {
  const depths = Int32Array.from(nodes, (node) => node.depth)
  const fails = Int32Array.from(nodes, (node) => node.fail)
  const edges = nodes.map((node) => node.edges)
  const own = nodes.map((node) => [...new Set(node.own)].sort((a, b) => a - b))
  // Nearly all text is met in state 0, so its ASCII edges are an array; the others are looked up.
  const first = edges[0] as Map<number, number>
  const ascii = Int32Array.from({ length: 128 }, (_, unit) => first.get(unit) ?? 0)
  return {
    longest: depths.reduce((most, depth) => Math.max(most, depth), 0),
    next(state, given) {
      const unit = fold && given >= 0x41 && given <= 0x5a ? given + 0x20 : given
      for (let at = state; at !== 0; at = fails[at] as number) {
        const to = edges[at]?.get(unit)
        if (to !== undefined) return to
      }
      return unit < 128 ? (ascii[unit] as number) : (first.get(unit) ?? 0)
    },
    depth: (state) => depths[state] as number,
    ending: (state) => own[state] as readonly number[],
  }
}
