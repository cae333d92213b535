import { joinPath } from '../plugins/schema.ts'
import type { Check } from './check.ts'

const some: Check = {
  reads: ['layers'],
  run({ layers }, notes) {
    if (Object.keys(layers).length === 0)
      notes.warn('layers', 'is empty: calls go to the runner as they come, unchecked')
  },
}

const own: Check = {
  reads: [],
  run({ layers: sections }, notes) {
    for (const layer of notes.layers) {
      const section = sections[layer.name]
      if (section === undefined) continue
      for (const { path, message } of layer.warnings?.(section) ?? []) {
        notes.warn(joinPath(`layers.${layer.name}`, path), message)
      }
    }
  },
}

/** Checks over the layers' own sections. */
export const layerChecks: readonly Check[] = [some, own]
