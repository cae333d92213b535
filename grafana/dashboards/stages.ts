import { MappingType, type ValueMapping } from '@grafana/grafana-foundation-sdk/dashboard'
import { timeline } from './panel.ts'
import { select } from './series.ts'

/** What the numbers of `layer_stage` mean. */
export const stageWords: ValueMapping[] = [
  {
    type: MappingType.ValueToText,
    options: {
      '-1': { text: 'rolled back', color: 'red' },
      '0': { text: 'gateway', color: 'text' },
      '1': { text: 'shadow', color: 'blue' },
      '2': { text: 'canary, step 1', color: 'light-yellow' },
      '3': { text: 'canary, step 2', color: 'yellow' },
      '4': { text: 'canary, step 3', color: 'semi-dark-yellow' },
      '5': { text: 'canary, step 4', color: 'dark-yellow' },
      '6': { text: 'native', color: 'green' },
    },
  },
]

/** What 1 and 0 mean where something is there or not. */
export const upWords: ValueMapping[] = [
  {
    type: MappingType.ValueToText,
    options: { '0': { text: 'down', color: 'red' }, '1': { text: 'up', color: 'green' } },
  },
]

/** What 1 and 0 mean where a person has switched something. */
export const switchWords: ValueMapping[] = [
  {
    type: MappingType.ValueToText,
    options: { '0': { text: 'no', color: 'text' }, '1': { text: 'yes', color: 'orange' } },
  },
]

/** The panel that shows where each layer is and was. */
export function stagesOverTime(): ReturnType<typeof timeline> {
  const furthest = `max by (layer) (${select('layer_stage', { where: 'layer=~"$layer"' })})`
  return timeline(
    {
      title: 'Stage of each layer',
      description: 'Where each layer is decided, on the replica that is furthest.',
      unit: 'short',
      queries: { '{{layer}}': furthest },
      width: 16,
      runbooks: ['rollout-stuck'],
    },
    stageWords,
  )
}
