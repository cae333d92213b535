import type { ContextModes } from '../../../plugins/execution-context-facts.ts'
import type { Acting } from '../../../plugins/layer.ts'
import type { CallRecord } from '../../call-record.ts'
import type { CallFold } from '../call-fold.ts'
import type { DecideAnswer } from '../decides.ts'
import type { AboutCall, BothSaid } from './both-said.ts'
import type { CompareSettings } from './comparing.ts'
import { halvesOf, leftHalves } from './halves.ts'
import type { Shadow } from './shadow.ts'
import { createStreamSide, type StreamSide } from './stream-side.ts'

/** Hands what the halves of layers have said to {@link Shadow}, under one configuration. */
export interface ShadowSide {
  readonly streams: StreamSide
  /** An acknowledged answer has ended; `fold.said` is whole. */
  ended(record: CallRecord, fold: CallFold, context: BothSaid['context']): void
  /** Layers are asked apart from the call: hears what they say. */
  asked(record: CallRecord, fold: CallFold, modes: ContextModes): DecideAnswer
  /** Hears how soon answers of runners begin. */
  live(record: CallRecord): void
  /** The call is over: what moves and could not be compared is a hole in what is covered. */
  over(record: CallRecord, fold: CallFold): void
}

/** What a {@link ShadowSide} is made from. */
export interface ShadowSideParts {
  readonly shadow: Shadow
  readonly settings: CompareSettings
  readonly acting: ReadonlyMap<string, Acting>
  /** Milliseconds since the epoch. */
  now(): number
}

/** Makes a {@link ShadowSide}. */
export function createShadowSide({ shadow, settings, acting, now }: ShadowSideParts): ShadowSide {
  const { comparing } = shadow
  const about = ({ source }: CallRecord, fold: CallFold): AboutCall => ({
    cacheHit: source === 'cache' || fold.said?.acknowledgement.layers['cache']?.o === 'answer',
    rollout: fold.rollout,
    at: now(),
  })
  return {
    streams: createStreamSide(shadow.streams),
    ended(record, fold, context) {
      const acknowledgement = fold.said?.acknowledgement
      if (!acknowledgement) return
      const halves = halvesOf(fold, context.modes, acting)
      comparing.said({ halves, acknowledgement, context, ...about(record, fold) }, settings)
    },
    asked(record, fold, modes) {
      const halves = halvesOf(fold, modes, acting)
      const of = about(record, fold)
      return {
        said: (acknowledgement, context) =>
          comparing.said(
            { halves: halves.filter(({ name }) => context.modes[name] !== undefined), acknowledgement, context, ...of },
            settings,
          ),
        not: (reason, layers) =>
          comparing.skipped(
            halves.filter(({ name }) => layers.includes(name)),
            reason,
            of,
            settings,
          ),
      }
    },
    live({ source, streamed, firstByteMs }) {
      if (source === 'runner' && streamed && firstByteMs !== undefined)
        shadow.live.observed(firstByteMs, performance.now())
    },
    over(record, fold) {
      const left = leftHalves(fold)
      if (left.length === 0) return
      const unable = left.filter(({ name }) => fold.sends > 0 && !fold.modes.has(name))
      const rest = left.filter((half) => !unable.includes(half))
      comparing.skipped(unable, 'runner-unable', about(record, fold), settings)
      comparing.skipped(rest, 'not-acknowledged', about(record, fold), settings)
    },
  }
}
