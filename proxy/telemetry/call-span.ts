import type { Route, Usage } from '../../plugins/chat.ts'
import type { ErrorCode } from '../../plugins/errors.ts'
import type { Attributes } from './gen-ai.ts'
import type { Phase, Source } from './metric-values.ts'

/** A call as its span begins. */
export interface CallStart {
  readonly route: Route
  readonly method: string
  /** The route's template, such as `/v1/chat/completions`; never the path or the query the caller sent. */
  readonly path: string
  /** Default `http`. */
  readonly scheme?: 'http' | 'https'
  /** The header as it came, several joined by `, `. */
  readonly traceparent?: string | undefined
  readonly tracestate?: string | undefined
  /** When the head of the request was there, on the clock of `performance.now()`; default now. */
  readonly startMs?: number
}

/** How a call ended. */
export interface CallEnd {
  /** The HTTP status that was sent; 499 when the caller went away before there was one. */
  readonly code: number
  readonly source: Source
  /** What went wrong, also after the head had been sent. `client_closed` is neither success nor failure. */
  readonly error?: ErrorCode | undefined
  readonly attrs?: Attributes
}

/** One try at one runner. */
export interface AttemptStart {
  readonly runner: string
  /** The model as the runner is asked for it, where it is known. */
  readonly model?: string | undefined
  /** Absent where no model is asked: the span is a plain HTTP one. */
  readonly operation?: string | undefined
  /** Default `POST`. */
  readonly method?: string
  /** Host and port of the runner: no URL, which may hold a credential. */
  readonly address: string
  readonly port: number
  readonly stream: boolean
  /** `gen_ai.provider.name`; default `openai`, whose protocol runners speak. */
  readonly provider?: string
  readonly attrs?: Attributes
}

/** How a try ended: with an answer, or an error, or both. */
export interface AttemptEnd {
  /** The runner's HTTP status, where it answered. */
  readonly status?: number | undefined
  readonly error?: ErrorCode | undefined
  readonly usage?: Usage | undefined
  readonly finishReasons?: readonly string[] | undefined
  /** From the start of the try to the first token, in milliseconds; streams only. */
  readonly ttftMs?: number | undefined
  readonly responseModel?: string | undefined
}

/** The span of a try. It ends once; whatever comes after that is ignored. */
export interface AttemptSpan {
  readonly spanId: string
  /** What the runner is told, by name: `traceparent` and, where the caller sent one, `tracestate`. Never `baggage`. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** At the end of the answer's body, not at its head. */
  end(end: AttemptEnd): void
}

/** The span of a call. It ends once, with whatever of it is still open; what comes after that is ignored. */
export interface CallSpan {
  readonly traceId: string
  readonly spanId: string
  /** The trace is sampled. */
  readonly sampled: boolean
  /** Attributes are kept: making them is not in vain. */
  readonly recording: boolean
  set(attrs: Attributes): void
  /** What a layer did in one phase, after the fact. Times are on the clock of `performance.now()`. */
  layer(name: string, phase: Phase, time: LayerTime): void
  attempt(start: AttemptStart): AttemptSpan
  /**
   * One more request for the same call, whose answer nobody gets: a trace of its own with a link to this one, sampled where this one is. May
   * begin after the call has ended, and is not ended by it.
   */
  copy(start: AttemptStart): AttemptSpan
  /** At the last byte of the answer, or when it is given up. */
  end(end: CallEnd): void
}

/** When a layer was at work, and what is to be said of it. */
export interface LayerTime {
  readonly startMs: number
  readonly endMs: number
  readonly attrs?: Attributes
}
