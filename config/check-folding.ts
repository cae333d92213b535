import type { Layer } from '../plugins/layer.ts'
import { type Movable, stagesFault } from '../plugins/legality.ts'
import type { Check } from './check.ts'
import { closest } from './closest.ts'
import { isLoopback } from './loopback.ts'
import { outsideFaults } from './outside.ts'
import type { GatewayConfig } from './schema.ts'

/** The layers that a configuration has on, as far as moving them goes, outermost first. */
export function movableLayers(
  { layers: sections }: Pick<GatewayConfig, 'layers'>,
  layers: readonly Layer[],
): readonly Movable[] {
  return layers
    .filter(({ name }) => sections[name] !== undefined)
    .map((layer) => {
      const { name, reads, writes, answers, rewrites } = layer
      const stays = layer.native && layer.fold ? layer.stays?.(sections[name]) : 'it has no half that a runner executes'
      return { name, reads, writes, answers, rewrites, stays }
    })
}

const stages: Check = {
  reads: ['folding', 'layers'],
  run({ layers: sections, folding }, notes) {
    const movable = movableLayers({ layers: sections }, notes.layers)
    const out = Object.entries(folding.stages).filter(([, stage]) => stage !== 'gateway')
    for (const [name, stage] of out) {
      if (sections[name] === undefined)
        notes.fault(`folding.stages.${name}`, `is ${stage}, but the layer is off: layers.${name} is not there`)
    }
    const fault = stagesFault(movable, (name) => ({ stage: folding.stages[name] ?? 'gateway' }))
    if (fault) notes.fault('folding.stages', fault)
    const { stages: steps } = folding.policy
    if (steps.at(-1) !== 100 || steps.some((step, index) => step <= (steps[index - 1] ?? 0)))
      notes.fault('folding.policy.stages', 'must rise and end with 100')
  },
}

const way: Check = {
  reads: ['folding', 'layers', 'runners', 'signing'],
  run({ folding, layers: sections, runners, signing }, notes) {
    const moved = Object.keys(folding.stages).filter((name) => folding.stages[name] !== 'gateway')
    const out = moved.filter((name) => sections[name] !== undefined)
    const [first] = out
    if (first === undefined) return
    if (signing.keys.length === 0)
      notes.fault('signing.keys', `is empty, and ${first} cannot move without a key to sign with`)
    if (!runners.some(({ kind }) => kind === 'native'))
      notes.fault('folding.stages', `${first} cannot move: no runner is of kind native`)
    if (!out.includes('auth')) return
    for (const [index, { kind, url }] of runners.entries()) {
      const { protocol, hostname } = new URL(url)
      if (kind === 'native' && protocol === 'http:' && !isLoopback(hostname))
        notes.fault(
          `runners[${index}].url`,
          'must be https or on this machine: auth moves, and credentials travel to it',
        )
    }
  },
}

const shadow: Check = {
  reads: ['folding', 'runners'],
  run({ folding, runners }, notes) {
    const { legacy, similarity } = folding.shadow
    if (legacy !== null) {
      for (const [name, stage] of Object.entries(folding.stages)) {
        if (stage !== 'gateway')
          notes.fault(
            `folding.stages.${name}`,
            `must be gateway while folding.shadow.legacy serves, not ${stage}: its layers only observe`,
          )
      }
    }
    if (similarity.kind !== 'embeddings') return
    const names = runners.map(({ name }) => name)
    const { runner } = similarity
    if (runner === null || !names.includes(runner)) {
      const near = runner === null ? undefined : closest(runner, names)
      const hint = near === undefined ? `must be one of runners: ${names.join(', ')}` : `did you mean ${near}?`
      const what =
        runner === null ? 'is required: name the runner that makes embeddings' : `there is no runner ${runner}`
      notes.fault('folding.shadow.similarity.runner', `${what}; ${hint}`)
    }
    if (similarity.model === null)
      notes.fault('folding.shadow.similarity.model', 'is required: name the model that makes embeddings')
  },
}

const peers: Check = {
  reads: ['folding', 'signing'],
  run({ folding, signing }, notes) {
    if (folding.peers.length === 0) return
    if (signing.keys.length === 0)
      notes.fault('folding.peers', 'replicas cannot believe each other without a key in signing.keys')
    if (signing.keys.some(({ alg }) => alg === 'HS256'))
      notes.warn('folding.peers', 'runners know the HS256 key too, and could speak as a replica; use EdDSA')
  },
}

const outside: Check = {
  reads: ['folding'],
  run({ folding }, notes) {
    for (const { path, message } of outsideFaults(folding)) notes.fault(path, message)
  },
}

/** Checks over where layers stand, and who is told of it. */
export const foldingChecks: readonly Check[] = [stages, way, shadow, peers, outside]
