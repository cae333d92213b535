import { gatewayError } from '../errors.ts'
import { createScanner, type Scanner, type ScanPlan, type Sought } from './scanner.ts'
import { createTagFilter, type TagRules } from './tags.ts'

/** How the answer to one call is cleaned. */
export interface Cleaning {
  readonly plan: ScanPlan
  /** Tags to take out; undefined for none. */
  readonly tags: TagRules | undefined
  /** What every choice ends with; undefined for nothing. */
  readonly suffix: string | undefined
  /** Also the arguments of tool calls. */
  readonly toolCalls: boolean
  /** The content is left as it is: it was cleaned before. */
  readonly keepsContent: boolean
  /** Hears of every redaction. */
  redacted(): void
  /** Hears of a block, before it is thrown. */
  blocked(): void
}

/** A find that is only noted, as it is told to the caller. */
export interface Annotation {
  readonly choice: number
  readonly rule: string
}

/** The most annotations one answer carries; further ones are not told. */
const maxAnnotations = 100

/**
 * What to do with each find in one choice: count what is redacted, note what is annotated, throw `output_invalid` for what is blocked.
 */
export function finderFor(cleaning: Cleaning, choice: number, notes: Annotation[]): (sought: Sought) => void {
  return ({ rule, action }) => {
    if (action === 'redact') cleaning.redacted()
    else if (action === 'annotate') {
      if (notes.length < maxAnnotations) notes.push({ choice, rule })
    } else {
      cleaning.blocked()
      throw gatewayError('output_invalid', `the answer was stopped by the rule ${rule}`, { field: rule })
    }
  }
}

const nothingToDo: Scanner = { push: (piece) => piece, end: () => '' }

/** A scanner for one field of one choice, behind a tag filter where `tags` are given. */
export function createLane(plan: ScanPlan, onFind: (sought: Sought) => void, tags?: TagRules): Scanner {
  const scanner = plan.watches.length === 0 ? nothingToDo : createScanner(plan, onFind)
  if (!tags) return scanner
  const filter = createTagFilter(tags)
  return {
    push: (piece) => scanner.push(filter.push(piece)),
    end: () => scanner.push(filter.end()) + scanner.end(),
  }
}

/** A whole text cleaned in one go. */
export function cleanText(plan: ScanPlan, text: string, onFind: (sought: Sought) => void): string {
  const lane = createLane(plan, onFind)
  return lane.push(text) + lane.end()
}
