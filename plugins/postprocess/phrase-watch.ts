import { createPhraseTree, type PhraseSemantics } from './phrases.ts'
import type { Sought, WatchMaker } from './scanner.ts'

/** A phrase and what becomes of it. */
export interface SoughtPhrase {
  readonly phrase: string
  readonly sought: Sought
}

/** A watch for phrases. It holds back only what begins one of them, so at most the longest phrase less one unit. Undefined for none. */
export function createPhraseWatch(list: readonly SoughtPhrase[], semantics: PhraseSemantics): WatchMaker | undefined {
  if (list.length === 0) return undefined
  const tree = createPhraseTree(
    list.map((each) => each.phrase),
    semantics,
  )
  return () => {
    let state = 0
    let at = 0
    return {
      advance({ text, base }, report) {
        const end = base + text.length
        for (; at < end; at++) {
          state = tree.next(state, text.charCodeAt(at - base))
          if (state === 0) continue
          for (const number of tree.ending(state)) {
            const { phrase, sought } = list[number] as SoughtPhrase
            report(at + 1 - phrase.length, at + 1, sought)
          }
        }
        return end - tree.pending(state)
      },
    }
  }
}
