import { RE2JS } from 're2js'
import { gatewayError } from '../errors.ts'
import type { Report, Sought, View, Watch, WatchMaker } from './scanner.ts'

/** An operator's own pattern (RE2 syntax, linear time), and the longest match it can have, in UTF-16 code units. */
export interface SoughtPattern {
  readonly pattern: string
  readonly maxMatch: number
  readonly sought: Sought
}

/**
 * A watch for one pattern. Of a longer match only the first `maxMatch` units count. When every match begins with one literal text, only
 * what may be that text or follows it is held back; else the last `maxMatch` units are. Throws `config_invalid` when the pattern is no
 * RE2 pattern, matches the empty text, or holds an anchor: a stream has no ends to anchor at.
 */
export function createCustomWatch({ pattern, maxMatch, sought }: SoughtPattern): WatchMaker {
  const compiled = compilePattern(pattern)
  const plan = { compiled, prefix: String(compiled.re2().prefix ?? ''), maxMatch, sought }
  return () => createWatch(plan)
}

/** A pattern compiled for matching inside a text that has not ended. Throws `config_invalid`. */
function compilePattern(pattern: string): RE2JS {
  if (/[$^]|\\[AzZ]/.test(pattern.replace(/\\[^AzZ]|\[\^?\]?(?:\\.|[^\]\\])*\]/g, ''))) {
    throw gatewayError('config_invalid', `pattern ${pattern} holds an anchor, which a stream has no place for`)
  }
  let compiled: RE2JS
  try {
    compiled = RE2JS.compile(RE2JS.translateRegExp(pattern), RE2JS.LONGEST_MATCH)
  } catch (cause) {
    throw gatewayError('config_invalid', `pattern ${pattern} is not in RE2 syntax`, { cause })
  }
  if (compiled.test('')) throw gatewayError('config_invalid', `pattern ${pattern} matches the empty text`)
  return compiled
}

interface Plan {
  readonly compiled: RE2JS
  readonly prefix: string
  readonly maxMatch: number
  readonly sought: Sought
}

function createWatch(plan: Plan): Watch {
  const { prefix, maxMatch } = plan
  // The window is searched again only when an eighth of it is new, so that the cost stays linear in the text.
  const stride = Math.max(1, maxMatch >> 3)
  let decided = 0
  let searched = 0
  const search = (view: View, report: Report): void => {
    const end = view.base + view.text.length
    while (decided < end) {
      const start = findFrom(plan.compiled, decided, view)
      const open = Math.max(decided, end - maxMatch)
      if (start === undefined || (!view.final && start >= open)) {
        decided = view.final ? end : Math.min(start ?? end, open)
        return
      }
      const length = matchLength(plan, start, view)
      if (length > 0) report(start, start + length, plan.sought)
      decided = start + Math.max(length, 1)
    }
  }
  return {
    advance(view, report) {
      const end = view.base + view.text.length
      const from = prefix ? prefixFrom(prefix, decided, view) : decided
      if (prefix) decided = from
      if (from < end && (view.final || end - searched >= stride)) {
        searched = end
        search(view, report)
        if (prefix) decided = prefixFrom(prefix, decided, view)
      }
      return decided
    },
  }
}

function findFrom(pattern: RE2JS, from: number, { text, base }: View): number | undefined {
  const matcher = pattern.matcher(text)
  return matcher.find(from - base) ? base + matcher.start() : undefined
}

/** How long the match at `start` is within `maxMatch` units, seeing two units before and one after; 0 when there is none. */
function matchLength({ compiled, maxMatch }: Plan, start: number, { text, base }: View): number {
  const from = Math.max(0, start - base - 2)
  const at = start - base - from
  const matcher = compiled.matcher(text.slice(from, from + at + maxMatch + 1))
  return matcher.find(at) && matcher.start() === at ? Math.min(matcher.end() - at, maxMatch) : 0
}

/** Where the first literal, or the beginning of one at the end of the text, stands; the end when there is none. */
function prefixFrom(prefix: string, from: number, { text, base }: View): number {
  const found = text.indexOf(prefix, from - base)
  if (found >= 0) return base + found
  const end = base + text.length
  for (let at = Math.max(from, end - prefix.length + 1); at < end; at++) {
    if (prefix.startsWith(text.slice(at - base))) return at
  }
  return end
}
