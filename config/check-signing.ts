import type { Check } from './check.ts'

const keys: Check = {
  reads: ['signing'],
  run({ signing }, notes) {
    const kids = new Set<string>()
    for (const [index, key] of signing.keys.entries()) {
      const path = `signing.keys[${index}]`
      if (kids.has(key.kid)) notes.fault(`${path}.kid`, `${key.kid} is there twice`)
      kids.add(key.kid)
      const needed = key.alg === 'HS256' ? 'secretFile' : 'privateKeyFile'
      const other = key.alg === 'HS256' ? 'privateKeyFile' : 'secretFile'
      if (key[needed] === null) notes.fault(`${path}.${needed}`, `is required with ${key.alg}`)
      if (key[other] !== null) notes.fault(`${path}.${other}`, `does not go with ${key.alg}`)
    }
    if (signing.active !== null && !kids.has(signing.active)) {
      notes.fault(
        'signing.active',
        `names no key; there ${kids.size === 0 ? 'is none' : `are ${[...kids].join(', ')}`}`,
      )
    }
  },
}

/** Checks of the signing keys, without their files. */
export const signingChecks: readonly Check[] = [keys]
