/**
 * The text that really leaves, kept beside the view that is matched on. Positions are counted in units of the view from the beginning of
 * the text.
 */
export interface Original {
  /** Takes more text; returns what it adds to the view. An unfinished character waits for its rest. */
  add(piece: string, final: boolean): string
  /** The nearest position at or before `position` that cuts no character in two. */
  floor(position: number): number
  /** The nearest position at or after `position` that cuts no character in two. */
  ceil(position: number): number
  /** The original of a stretch of the view; both ends as `floor` and `ceil` give them. */
  cut(from: number, to: number): string
  /** Nothing before `position` is asked for again. */
  forget(position: number): void
}

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff

/** The text is its own view; only surrogate pairs are kept together. */
export function createPlain(): Original {
  let text = ''
  let base = 0
  let half = ''
  const splits = (at: number): boolean => isLow(text.charCodeAt(at)) && isHigh(text.charCodeAt(at - 1))
  return {
    add(piece, final) {
      let more = half + piece
      half = ''
      if (!final && isHigh(more.charCodeAt(more.length - 1))) {
        half = more.slice(-1)
        more = more.slice(0, -1)
      }
      text += more
      return more
    },
    floor: (position) => (splits(position - base) ? position - 1 : position),
    ceil: (position) => (splits(position - base) ? position + 1 : position),
    cut: (from, to) => text.slice(from - base, to - base),
    forget(position) {
      text = text.slice(position - base)
      base = position
    },
  }
}

// A character and all that joins it: marks, invisible characters, the vowels and finals of Hangul. Bounded, so that nothing waits for ever.
const cluster = /[\s\S][\p{M}\p{Default_Ignorable_Code_Point}\u1160-\u11ff]{0,32}/gu
const invisible = /\p{Default_Ignorable_Code_Point}+/gu
const fullLength = 33

/** A whole text as the shadow shows it: in NFKC form, without invisible characters. */
export function shadowOf(text: string): string {
  return text.replace(invisible, '').normalize('NFKC')
}

/**
 * A view in Unicode's NFKC form (UAX #15) without invisible characters, so that full-width, compatibility and zero-width spellings read
 * like plain ones. Made cluster by cluster, with the place of each unit in the original kept.
 */
export function createShadow(): Original {
  let source = ''
  let sourceBase = 0
  let waiting = ''
  // Where in the original the cluster of each unit of the view begins.
  let starts: number[] = []
  let base = 0
  let taken = 0
  const sourceOf = (position: number): number => starts[position - base] ?? taken
  const splits = (at: number): boolean => at > 0 && at < starts.length && starts[at] === starts[at - 1]
  const show = (whole: string): string => {
    const shown = shadowOf(whole)
    for (let i = 0; i < shown.length; i++) starts.push(taken)
    taken += whole.length
    return shown
  }
  return {
    add(piece, final) {
      source += piece
      const text = waiting + piece
      let view = ''
      let used = 0
      for (const [whole] of text.matchAll(cluster)) {
        if (!final && used + whole.length === text.length && [...whole].length < fullLength) break
        used += whole.length
        view += show(whole)
      }
      waiting = text.slice(used)
      return view
    },
    floor(position) {
      let at = position - base
      while (splits(at)) at--
      return at + base
    },
    ceil(position) {
      let at = position - base
      while (splits(at)) at++
      return at + base
    },
    cut: (from, to) => source.slice(sourceOf(from) - sourceBase, sourceOf(to) - sourceBase),
    forget(position) {
      const from = sourceOf(position)
      source = source.slice(from - sourceBase)
      sourceBase = from
      starts = starts.slice(position - base)
      base = position
    },
  }
}
