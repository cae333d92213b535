import { isMoving, sayStage } from '../../../plugins/stage.ts'
import type { RolloutsView, RolloutView } from './rollout-view.ts'

/** The webhooks of Flagger that are answered (docs.flagger.app, "Webhooks"). */
export const flaggerHooks = [
  'confirm-rollout',
  'rollout',
  'confirm-traffic-increase',
  'confirm-promotion',
  'rollback',
] as const

/** One of {@link flaggerHooks}. */
export type FlaggerHook = (typeof flaggerHooks)[number]

/** An answer to a webhook; Flagger shows the words of one that is not 2xx in its events. */
export interface HookAnswer {
  readonly status: 200 | 400 | 403 | 404
  readonly words: string
}

/** A rollback this long ago still rolls a canary of Flagger back, unless its `metadata.withinSeconds` says otherwise. */
const recentlyMs = 3_600_000

/**
 * Answers a webhook of Flagger. 200 lets it go on, except for `rollback`, where 200 means: roll back. The payload is
 * `{name, namespace, phase, metadata?: {layer?, withinSeconds?}}`; without `layer` every configured layer is looked at.
 */
export function answerFlagger(hook: FlaggerHook, payload: unknown, view: RolloutsView): HookAnswer {
  const metadata = metadataOf(payload)
  if (metadata === undefined) return { status: 400, words: 'the body must be the JSON object that Flagger sends' }
  const { layer } = metadata
  const layers = layer === undefined ? view.layers : view.layers.filter((each) => each.layer === layer)
  if (layer !== undefined && layers.length === 0) return { status: 404, words: `layer "${layer}" is not configured` }
  return gates[hook]({ ...view, layers }, withinMs(metadata['withinSeconds']))
}

function metadataOf(payload: unknown): Readonly<Record<string, string>> | undefined {
  if (payload === null || typeof payload !== 'object' || Array.isArray(payload)) return undefined
  const { metadata } = payload as { metadata?: unknown }
  if (metadata === undefined || metadata === null) return {}
  return typeof metadata === 'object' && !Array.isArray(metadata) ? (metadata as Record<string, string>) : undefined
}

/** Flagger's metadata are texts. */
function withinMs(text: string | undefined): number {
  return text !== undefined && /^\d{1,7}$/.test(text) ? Number(text) * 1_000 : recentlyMs
}

const gates: Readonly<Record<FlaggerHook, (view: RolloutsView, withinMs: number) => HookAnswer>> = {
  // Two changes at once would leave nobody knowing which of them was bad.
  'confirm-rollout': ({ layers, frozen }) =>
    frozen
      ? no('Foldgate is frozen')
      : deny(layers.filter(isMoving), (each) => `${each.layer} is moving (${sayStage(each)})`, 'no layer is moving'),
  // A failed check counts towards a rollback there, so only a failure here is one: too little evidence is not.
  rollout: ({ layers }) => deny(layers.filter(failing), sayWhy, 'nothing fails'),
  'confirm-traffic-increase': ({ layers, frozen }) =>
    frozen ? no('Foldgate is frozen') : deny(layers.filter(unproven), sayWhy, 'every moving layer passes'),
  'confirm-promotion': ({ layers, frozen }) =>
    frozen ? no('Foldgate is frozen') : deny(layers.filter(unproven), sayWhy, 'every moving layer passes'),
  rollback: ({ layers, now }, ms) => {
    const back = layers.filter((each) => failing(each) || (each.rolledBackAt !== null && now - each.rolledBackAt <= ms))
    if (back.length === 0) return no('no layer fails or was rolled back')
    return { status: 200, words: `roll back: ${back.map(sayWhy).join('; ')}` }
  },
}

const failing = ({ verdict }: RolloutView): boolean => verdict === 'fail'
const unproven = (each: RolloutView): boolean =>
  failing(each) || (isMoving(each) && (each.held || each.verdict !== 'pass'))
const sayWhy = ({ layer, held, verdict, why, stage, weight }: RolloutView): string =>
  `${layer} (${sayStage({ stage, weight })}${held ? ', held' : ''}) ${verdict}: ${why}`
const no = (words: string): HookAnswer => ({ status: 403, words })

function deny(against: readonly RolloutView[], say: (each: RolloutView) => string, fine: string): HookAnswer {
  return against.length === 0 ? { status: 200, words: fine } : no(against.map(say).join('; '))
}
