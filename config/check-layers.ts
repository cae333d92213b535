import { warnings as cacheWarnings } from '../plugins/cache/index.ts'
import type { Check } from './check.ts'

const some: Check = {
  reads: ['layers'],
  run({ layers }, notes) {
    if (Object.keys(layers).length === 0)
      notes.warn('layers', 'is empty: calls go to the runner as they come, unchecked')
  },
}

const cache: Check = {
  reads: ['layers.cache'],
  run({ layers }, notes) {
    if (layers['cache'] === undefined) return
    for (const text of cacheWarnings(layers['cache'] as Parameters<typeof cacheWarnings>[0])) {
      const [field = '', ...words] = text.split(': ')
      notes.warn(`layers.cache.${field}`, words.join(': '))
    }
  },
}

/** Checks over the layers' own sections. */
export const layerChecks: readonly Check[] = [some, cache]
