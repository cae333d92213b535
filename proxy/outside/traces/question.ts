/** What a trace store is asked: the calls of one rollout, at one stage, in one window. */
export interface WitnessQuestion {
  /** `service.name` of the gateway: `telemetry.serviceName`. */
  readonly service: string
  readonly layer: string
  /** The values of `foldgate.rollout` and `foldgate.stage` on the spans. */
  readonly rollout: string
  readonly stage: string
  /** Milliseconds since the epoch. Let it end some seconds ago: exporters send in batches. */
  readonly fromMs: number
  readonly toMs: number
  /** The arm that is judged, `native` where nothing is said; calls that fell back from it are counted in it, whoever served them. */
  readonly arm?: string
}

/** One arm, counted. */
export interface ArmCount {
  readonly calls: number
  /** Calls whose span is an error: status ERROR, which a caller that went away or was at fault does not set. */
  readonly bad: number
  /** Calls for which the layer fell back for a reason that the runner caused. */
  readonly fallbacks: number
}

/** Arms by the value of `foldgate.arm`, such as `native` and `gateway`. */
export type ArmCounts = Readonly<Record<string, ArmCount>>

/** What a trace store answered. */
export interface WitnessCounts {
  readonly arms: ArmCounts
  /** Traces that were read. */
  readonly traces: number
  /** The store had more than were asked for, or could not give some: what was read is a part of what it holds. */
  readonly partial: boolean
}

/** A span, of whichever store. */
export interface WitnessSpan {
  readonly id: string
  readonly startMs: number
  readonly failed: boolean
  readonly attributes: Readonly<Record<string, unknown>>
}
