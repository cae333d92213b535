import { createPlain, createShadow } from './original.ts'

/** What becomes of a find: replaced, the end of the answer, or only noted. */
export type Action = 'redact' | 'block' | 'annotate'

/** One thing that is looked for. */
export interface Sought {
  /** Which rule it belongs to, such as `pii.email`; appears in errors and annotations. */
  readonly rule: string
  readonly action: Action
  /** What stands in its place when it is redacted. */
  readonly replacement: string
  /** The less, the sooner it names the replacement where two finds begin together. */
  readonly rank: number
}

/** The part of a text that is not decided yet, with two units before it, as the watches see it. */
export interface View {
  readonly text: string
  /** Where `text` begins in the whole text, in UTF-16 code units. */
  readonly base: number
  /** No more text will come. */
  readonly final: boolean
}

/** Says that `sought` was found from `start` to before `end`, counted from the beginning of the whole text. */
export type Report = (start: number, end: number, sought: Sought) => void

/** Looks for one kind of thing in a text that arrives in pieces. What it finds depends on the text only, never on the pieces. */
export interface Watch {
  /**
   * Looks at what is new in the view. Returns the first position where something not yet reported may still begin: what stands before it
   * is decided.
   */
  advance(view: View, report: Report): number
}

/** Makes a {@link Watch} for one text. */
export type WatchMaker = () => Watch

/** Replaces what is sought in a text that arrives in pieces, and lets go of everything else as early as it is decided. */
export interface Scanner {
  /** What may leave now. Throws what `onFind` throws. */
  push(piece: string): string
  /** The rest. */
  end(): string
}

/** How a text is scanned. */
export interface ScanPlan {
  readonly watches: readonly WatchMaker[]
  /** Match on the NFKC form without invisible characters, and replace in the original. */
  readonly nfkc: boolean
}

interface Span {
  readonly start: number
  readonly end: number
  readonly sought: Sought
}

/**
 * Makes a {@link Scanner}. Finds that overlap become one gap, named after the one that begins first; so the result does not depend on how
 * the text was cut. `onFind` hears every find before any of its text leaves.
 */
export function createScanner(plan: ScanPlan, onFind: (sought: Sought) => void): Scanner {
  const watches = plan.watches.map((make) => make())
  const original = plan.nfkc ? createShadow() : createPlain()
  const gaps: Span[] = []
  let text = ''
  let base = 0
  let sent = 0
  const report: Report = (start, end, sought) => {
    onFind(sought)
    if (sought.action === 'redact') insert(gaps, { start: original.floor(start), end: original.ceil(end), sought })
  }
  const take = (more: string, final: boolean): string => {
    text += more
    const view = { text, base, final }
    let safe = base + text.length
    for (const watch of watches) safe = Math.min(safe, watch.advance(view, report))
    return leave(final ? base + text.length : original.floor(safe))
  }
  const leave = (safe: number): string => {
    let out = ''
    while (gaps[0] && gaps[0].start < safe) {
      const { start, end, sought } = gaps.shift() as Span
      if (start >= sent) out += original.cut(sent, start) + sought.replacement
      sent = Math.max(sent, end)
    }
    if (safe > sent) {
      out += original.cut(sent, safe)
      sent = safe
    }
    forget(safe)
    return out
  }
  const forget = (safe: number): void => {
    const from = Math.min(safe, sent) - context
    if (from <= base) return
    text = text.slice(from - base)
    base = from
    original.forget(from)
  }
  return {
    push: (piece) => (piece ? take(original.add(piece, false), false) : ''),
    end: () => take(original.add('', true), true),
  }
}

/** How many decided units before the view stay visible, for what must not stand right before a match. */
const context = 2

function insert(gaps: Span[], gap: Span): void {
  let at = gaps.length
  while (at > 0 && comesBefore(gap, gaps[at - 1] as Span)) at--
  gaps.splice(at, 0, gap)
}

function comesBefore(a: Span, b: Span): boolean {
  return a.start !== b.start ? a.start < b.start : a.sought.rank < b.sought.rank
}
