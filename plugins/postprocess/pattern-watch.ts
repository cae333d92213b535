import type { Report, Sought, View, Watch, WatchMaker } from './scanner.ts'

/**
 * A kind of text that is told by its shape, written so that nearly all text is passed over without running an expression. All character
 * classes are of ASCII.
 */
export interface Shape {
  /** Characters one can begin with. */
  readonly first: RegExp
  /** All characters one can contain. */
  readonly body: RegExp
  /** Characters that must not stand right before one. */
  readonly glue: RegExp
  /** Every one contains one of these characters… */
  readonly marks: RegExp
  /** …after at most this many others. */
  readonly lead: number
  /** The shortest and the longest there is, in characters. */
  readonly min: number
  readonly bound: number
  /** What one looks like, sticky (`y`), the longest form first; sees two characters before and one after. Each takes time linear in `bound`. */
  readonly forms: readonly RegExp[]
  /** What else must hold, such as a checksum. */
  readonly check?: (found: string) => boolean
}

/** A shape and what becomes of it. */
export interface SoughtShape {
  readonly shape: Shape
  readonly sought: Sought
}

/**
 * A watch for shapes: one pass over the text that keeps, in one bit a shape, which of them may be under way. Only what may be the
 * beginning of one is held back, and at most its `bound`. Undefined for none. At most 31 shapes.
 */
export function createPatternWatch(list: readonly SoughtShape[]): WatchMaker | undefined {
  if (list.length === 0) return undefined
  const tables = {
    first: maskTable(list, 'first'),
    body: maskTable(list, 'body'),
    glue: maskTable(list, 'glue'),
    marks: maskTable(list, 'marks'),
  }
  const skip = { mark: markOf(tables.marks), reach: Math.max(...list.map(({ shape }) => shape.lead)) + context }
  return () => createWatch(list, { ...tables, ...skip })
}

/** Characters before a beginning that bear on it. */
const context = 2

type Tables = Readonly<Record<'first' | 'body' | 'glue' | 'marks', Int32Array>>

/** Tables, and what is needed to pass over text that nothing can begin in. */
interface Sight extends Tables {
  /** Any character that a match must contain. */
  readonly mark: RegExp
  /** How far before its first mark a match, and what bears on it, can begin. */
  readonly reach: number
}

function markOf(marks: Int32Array): RegExp {
  const units = [...marks.keys()].filter((unit) => unit < otherUnit && marks[unit] !== 0)
  return new RegExp(`[${units.map((unit) => `\\x${unit.toString(16).padStart(2, '0')}`).join('')}]`, 'g')
}

/** For each ASCII character the shapes whose class it is in, as bits; the last entry stands for all other characters. */
function maskTable(list: readonly SoughtShape[], name: keyof Tables): Int32Array {
  return Int32Array.from({ length: otherUnit + 1 }, (_, unit) => {
    const holds = ({ shape }: SoughtShape): boolean => unit < otherUnit && shape[name].test(String.fromCharCode(unit))
    return list.reduce((mask, each, number) => (holds(each) ? mask | (1 << number) : mask), 0)
  })
}
const otherUnit = 128

function createWatch(list: readonly SoughtShape[], { first, body, glue, marks, mark, reach }: Sight): Watch {
  /** Where the oldest undecided beginning of each shape that is under way stands. */
  const starts = list.map(() => 0)
  let open = 0
  let seen = 0
  let glued = 0
  let at = 0
  let view: View
  let report: Report
  const unitAt = (position: number): number => Math.min(view.text.charCodeAt(position - view.base), otherUnit)
  const nextStart = (bit: number, from: number, to: number): number => {
    let start = from
    while (start < to && ((first[unitAt(start)] as number) & bit & ~(glue[unitAt(start - 1)] as number)) === 0) start++
    return start
  }
  /** Decides the beginnings of one shape up to `to`: all of them when its run has ended there, else those that more text cannot change. */
  const decide = (number: number, to: number, ended: boolean): void => {
    const { shape, sought } = list[number] as SoughtShape
    let start = starts[number] as number
    while (start < to) {
      const hopeless = ended ? to - start < shape.min : to - start > shape.lead && !isMarked(shape, start, view)
      if (!ended && !hopeless && to - start <= shape.bound) break
      const end = hopeless ? start : matchEnd(shape, { start, to }, view)
      if (end > start) report(start, end, sought)
      start = nextStart(1 << number, Math.max(end, start + 1), to)
    }
    starts[number] = start
    if (start >= to) open &= ~(1 << number)
  }
  const decideAll = (shapes: number, to: number, ended: boolean): void => {
    for (let rest = shapes; rest !== 0; rest &= rest - 1) decide(lowestBit(rest), to, ended)
  }
  const step = (unit: number): void => {
    const closed = open & ~(body[unit] as number)
    if (closed !== 0) {
      if ((closed & seen) !== 0) decideAll(closed & seen, at, true)
      open &= ~closed
    }
    const fresh = (first[unit] as number) & ~open & ~glued
    for (let rest = fresh; rest !== 0; rest &= rest - 1) starts[lowestBit(rest)] = at
    open |= fresh
    seen = (seen & ~fresh) | (marks[unit] as number)
    glued = glue[unit] as number
  }
  /**
   * Nothing that is under way has its mark yet: whatever begins more than its lead before the next mark comes to nothing, so all text up
   * to there is passed over.
   */
  const skipTo = (next: number): void => {
    const from = next - reach
    if (from <= at) return
    open = 0
    at = from
    glued = glue[unitAt(at - 1)] as number
  }
  const nextMark = (end: number): number => {
    mark.lastIndex = at - view.base
    return mark.test(view.text) ? view.base + mark.lastIndex - 1 : end
  }
  return {
    advance(given, hear) {
      view = given
      report = hear
      const end = given.base + given.text.length
      while (at < end) {
        let stop = at + 1
        if ((open & seen) === 0 && end - at > reach) {
          const next = nextMark(end)
          skipTo(next)
          stop = Math.min(end, next + 1)
        }
        for (; at < stop; at++) step(unitAt(at))
      }
      if (open !== 0) decideAll(open, end, given.final)
      let safe = end
      for (let rest = open; rest !== 0; rest &= rest - 1) safe = Math.min(safe, starts[lowestBit(rest)] as number)
      return safe
    },
  }
}

const lowestBit = (mask: number): number => 31 - Math.clz32(mask & -mask)

function isMarked(shape: Shape, start: number, { text, base }: View): boolean {
  return shape.marks.test(text.slice(start - base, start - base + shape.lead + 1))
}

/** Where the match that begins at `start` ends, or -1. Depends on `bound` characters from there, two before and one after. */
function matchEnd(shape: Shape, run: { start: number; to: number }, { text, base }: View): number {
  const from = Math.max(0, run.start - base - 2)
  const at = run.start - base - from
  const length = Math.min(run.to - run.start, shape.bound)
  const near = text.slice(from, from + at + length + 1)
  for (const form of shape.forms) {
    form.lastIndex = at
    if (!form.test(near)) continue
    const end = Math.min(form.lastIndex, at + length)
    if (!shape.check || shape.check(near.slice(at, end))) return run.start + end - at
  }
  return -1
}
