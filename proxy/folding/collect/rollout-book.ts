import { isEvidence } from '../../../plugins/execution-context-fallback.ts'
import type { Flush } from '../rollout/evidence.ts'
import type { AnswerEvent, RolloutStep } from '../rollout/evidence-counts.ts'
import { createAnswerLengths } from './answer-lengths.ts'
import { addAnswer, addReason, type CellPlace, createCells } from './cells.ts'
import type { Drawn } from './drawn.ts'
import type { EndedCall, SeenAnswer } from './ended-call.ts'
import { createInFlight, type Flight, type FlightWatch } from './in-flight.ts'
import { type Judged, judged } from './judged-call.ts'
import { createLatencies } from './latencies.ts'
import type { LatencyFlush } from './latency-limits.ts'
import { createMinutes } from './minutes.ts'
import type { Overflow } from './overflow.ts'
import { createPlaceFuses } from './place-fuses.ts'
import { createRepeats } from './repeats.ts'
import { createShadowBook, type ShadowBook } from './shadow-book.ts'
import { defaultConstants, type StepStart } from './step-start.ts'
import { strataNames } from './strata-names.ts'
import { createUnitBad } from './unit-bad.ts'
import { createUnitMarks, type MarkedUnit } from './unit-marks.ts'

/** What a flush says of one rollout, without who says it. */
export type Counted = Omit<Flush, 'replica' | 'boot' | 'seq' | 'at'>

/** What somebody thinks of an answer, after its call is over: a caller who rates it, or the scorer. */
export interface Opinion {
  readonly trial: 'rated' | 'scored'
  /** What speaks against it; undefined: nothing. */
  readonly event: 'disliked' | 'poor' | undefined
}

/** What callers and people caused, by word: no evidence against anybody. */
export type Apart = Readonly<Record<string, number>>

/** Everything that one process counts of one rollout. */
export interface RolloutBook extends Pick<ShadowBook, 'compared' | 'paired' | 'severe'> {
  /** The step now. */
  readonly step: RolloutStep
  begin(start: StepStart): void
  assigned(call: Drawn): Flight
  ended(call: EndedCall): void
  opined(call: Drawn, opinion: Opinion): void
  counted(): Counted
  latency(): LatencyFlush['arms']
  apart(): Apart
}

/** What a {@link RolloutBook} is made with. */
export interface BookParts {
  readonly replica: string
  /** Milliseconds since the epoch. */
  now(): number
  /** A call that was drawn is over. */
  over(): void
  isVip(tier: string): boolean
  /** Times of the canary that are dropped at first. */
  readonly warmUp: number
  readonly overflow: Overflow
}

/** Makes the {@link RolloutBook} of a rollout that is at this step. */
export function createRolloutBook(parts: BookParts, first: StepStart): RolloutBook {
  const book = openBook(parts, first)
  const { cells, marks, minutes, flying, places, latencies, shadow, apart } = book
  begin(book, first)
  return {
    ...shadow,
    get step() {
      return book.start.step
    },
    begin: (start) => begin(book, start),
    assigned(call) {
      const { step, stepStartedAt } = call
      if (stepStartedAt !== undefined)
        cells.hear(step, { startedAt: stepStartedAt, since: sinceOf(book, stepStartedAt) })
      cells.at(call).assigned++
      marks.mark(call)
      if (call.arm === 'canary') minutes.assigned(call.startedAt)
      return flying.began(call)
    },
    ended: (call) => ended(book, call),
    opined(call, { trial, event }) {
      addAnswer(cells.at(call), trial)
      if (event) noteAnswer(book, call, event)
    },
    counted: () => ({
      cells: cells.list(),
      units: marks.list(),
      sampled: marks.share,
      places: places.list((runner) => flying.waitingMs(book.start.step, runner)),
      shadow: shadow.shadow(),
      severe: shadow.severeCounts(),
      minutes: minutes.list(),
      inFlight: flying.open,
      coverage: { ...book.coverage },
    }),
    latency: () => latencies.texts(),
    apart: () => ({ ...apart }),
  }
}

type Book = ReturnType<typeof openBook>

function openBook({ replica, now, over, isVip, warmUp, overflow }: BookParts, start: StepStart) {
  const [cells, minutes] = [createCells(overflow), createMinutes()]
  const watch: FlightWatch = {
    now,
    started: (call) => cells.at(call).started++,
    over(call) {
      if (call.arm === 'canary') minutes.over(call.startedAt)
      over()
    },
  }
  return {
    start,
    since: 0,
    now,
    isVip,
    cells,
    minutes,
    marks: createUnitMarks(overflow),
    flying: createInFlight(watch, overflow),
    places: createPlaceFuses(replica, fuseStep(start, 0), overflow),
    repeats: createRepeats(overflow),
    lengths: createAnswerLengths(),
    ofUnits: createUnitBad(),
    latencies: createLatencies(warmUp, overflow),
    shadow: createShadowBook(isVip),
    coverage: {} as Record<string, number>,
    apart: {} as Record<string, number>,
  }
}

function fuseStep({ constants = defaultConstants }: StepStart, since: number) {
  const { errors, cusum, vip } = constants
  return { since, errors, cusum, ...(vip ? { vip } : {}) }
}

function begin(book: Book, start: StepStart): void {
  const { cells, marks, places, latencies } = book
  const since = sinceOf(book, start.startedAt)
  latencies.begin(start.limits, start.step === book.start.step)
  book.start = start
  book.since = since
  book.coverage = {}
  book.ofUnits.begin(start)
  cells.begin(start.step, { startedAt: start.startedAt, since })
  marks.sample(start.sampled ?? 1)
  places.begin(fuseStep(start, since))
}

/** When a step began on the clock here: where this clock is behind, what begins now is of the step all the same. */
function sinceOf({ now }: Book, startedAt: number): number {
  return Math.min(startedAt, now())
}

function ended(book: Book, call: EndedCall): void {
  const { start, cells, marks, minutes, apart } = book
  const { step = start.step, tier, arm, startedAt } = call
  const found = judged(call, (start.constants ?? defaultConstants).stuckMs)
  const aside = apartAs(call, found)
  if (aside !== undefined) apart[aside] = (apart[aside] ?? 0) + 1
  // Who chooses a side is no sample of anything.
  if (call.chosen) return
  const place = { step, tier, arm, startedAt, unit: call.unit, tenant: call.tenant }
  const counts = cells.at(place)
  counts.ended++
  if (arm === 'canary') minutes.ended(startedAt)
  const repeated = found.bad !== undefined && book.repeats.isRepeat(place, found.bad)
  const crowded = found.bad !== undefined && !repeated && !book.ofUnits.counts(arm, call.unit)
  if (found.bad && !repeated) {
    counts.bad++
    if (!crowded) counts.badOfMany++
    if (found.bad.failed) counts.failed++
  }
  // What another layer's fault took along is no fallback of this layer.
  if (call.fallback !== undefined && (found.evidence || !isEvidence(call.fallback))) addReason(counts, call.fallback)
  if (found.unknownVersion) counts.unknownVersions++
  if (found.mismatch) counts.mismatches++
  marks.mark(place, found.bad ? 'bad' : found.event)
  if (call.answer && found.trial && found.bad === undefined && call.fallback === undefined)
    answered(book, place, call.answer)
  if (found.trial && step === start.step && startedAt >= book.since)
    tried(book, call, { ...found, repeated: repeated || (crowded && byTenant(start)), counts })
}

/** Where tenants are drawn, bad calls of one tenant beyond the first few are no news of the layer: only a run of them is. */
function byTenant({ constants }: StepStart): boolean {
  return constants?.counting === 'tenant'
}

/** What an answer was like. */
function answered(book: Book, place: CellPlace & MarkedUnit, { cut, declined, chars }: SeenAnswer): void {
  const counts = book.cells.at(place)
  addAnswer(counts, 'looked')
  const length = book.lengths.take(place.arm, chars)
  if (length) addAnswer(counts, 'sized')
  if (cut) noteAnswer(book, place, 'cut')
  if (declined) noteAnswer(book, place, 'declined')
  if (length?.short) noteAnswer(book, place, 'short')
  if (length?.long) noteAnswer(book, place, 'long')
}

function noteAnswer({ cells, marks }: Book, place: CellPlace & MarkedUnit, event: AnswerEvent): void {
  addAnswer(cells.at(place), event)
  marks.mark(place, event)
}

/** Under which word a call is counted apart; undefined: it tells something of the two sides. */
function apartAs({ chosen, fallback }: EndedCall, { excused, event }: Judged): string | undefined {
  if (chosen) return 'chosen'
  if (excused && fallback !== undefined) return isEvidence(fallback) ? 'taken-along' : fallback
  return event
}

type Tried = Judged & { readonly repeated: boolean; readonly counts: ReturnType<Book['cells']['at']> }

/** A call of the present step that tells something of whoever decided it: fuses, coverage and times. */
function tried(book: Book, call: EndedCall, { bad, evidence, repeated, counts }: Tried): void {
  const { runner, unit, startedAt, arm, kind, firstByteMs } = call
  if (arm === 'canary') {
    const said = bad === undefined ? 'no' : repeated ? 'repeated' : 'yes'
    book.places.hear({ runner, unit, startedAt, bad: said, vip: book.isVip(call.tier), fellBack: evidence })
    // What fell back was not done by the half that is to be covered.
    if (!evidence) {
      for (const name of strataNames(kind, book.isVip(call.tier))) book.coverage[name] = (book.coverage[name] ?? 0) + 1
    }
  }
  // What a cache answers and what ends badly has no time to compare.
  if (firstByteMs === undefined || kind.cacheHit || (bad !== undefined && bad.signature !== 'late')) return
  const exceeded = book.latencies.take(arm, kind, firstByteMs)
  if (!exceeded) return
  counts.timed++
  if (exceeded.q95) counts.overQ95++
  if (exceeded.q99) counts.overQ99++
}
