import type { Drawn } from './drawn.ts'
import { most, type Overflow } from './overflow.ts'

/** A call on its way, from its draw on. */
export interface Flight {
  readonly call: Drawn
  /** It is sent on, to a runner where one is asked; counted once, the last runner is where it waits. */
  started(runner?: string): void
  /** The first byte of its answer has left. */
  firstByte(): void
  /** It is over, however, whether or not a span says so. */
  over(): void
}

/** Canary calls under way, and those of them that still wait for their first byte. */
export interface InFlight {
  /** How many canary calls are under way. */
  readonly open: number
  began(call: Drawn): Flight
  /** Ages of canary calls of a step without a first byte, of one runner or of all, in milliseconds, the eight oldest. */
  waitingMs(step: Drawn['step'], runner: string | undefined): readonly number[]
}

/** Hears what becomes of calls. */
export interface FlightWatch {
  /** Milliseconds. */
  now(): number
  started(call: Drawn): void
  over(call: Drawn): void
}

const oldest = 8

/** Makes {@link InFlight}. Of those that wait 4,096 are known by age; documents, which leave whole at the end, are not. */
export function createInFlight(watch: FlightWatch, overflow: Overflow): InFlight {
  // In the order in which they were drawn: the oldest first.
  const waiting = new Set<Airborne>()
  let open = 0
  const landed = (call: Drawn): void => {
    if (call.arm === 'canary') open--
    watch.over(call)
  }
  return {
    get open() {
      return open
    },
    began(call) {
      const flight = new Airborne(call, watch, { waiting, landed })
      if (call.arm !== 'canary') return flight
      open++
      if (call.stream === false) return flight
      if (waiting.size < most.waiting) waiting.add(flight)
      else overflow.add('waiting')
      return flight
    },
    waitingMs(step, runner) {
      const ages: number[] = []
      for (const flight of waiting) {
        if (flight.call.step !== step || (runner !== undefined && flight.runner !== runner)) continue
        ages.push(watch.now() - flight.since)
        if (ages.length === oldest) break
      }
      return ages
    },
  }
}

interface Field {
  readonly waiting: Set<Airborne>
  landed(call: Drawn): void
}

// A class for speed: every call of a rollout has one.
class Airborne implements Flight {
  readonly call: Drawn
  readonly since: number
  runner: string | undefined = undefined
  readonly #watch: FlightWatch
  readonly #field: Field
  #sent = false
  #open = true
  constructor(call: Drawn, watch: FlightWatch, field: Field) {
    this.call = call
    this.since = watch.now()
    this.#watch = watch
    this.#field = field
  }
  started(runner?: string): void {
    if (!this.#sent) this.#watch.started(this.call)
    this.#sent = true
    if (runner !== undefined) this.runner = runner
  }
  firstByte(): void {
    this.#field.waiting.delete(this)
  }
  over(): void {
    if (!this.#open) return
    this.#open = false
    this.#field.waiting.delete(this)
    this.#field.landed(this.call)
  }
}
