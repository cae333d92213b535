import { randomBytes } from 'node:crypto'
import type { Policy } from '../../plugins/policy.ts'
import { question } from './case.ts'
import { needed } from './finding.ts'
import { foldingLayers, stepFrom } from './samples.ts'
import type { Subject } from './subject.ts'

/** A policy of which one layer, the outermost that can, refuses a question. */
export interface Refusing {
  readonly policy: Policy
  readonly body: object
  readonly layer: string
  readonly code: string
}

/** Settings under which a layer refuses, the question that it refuses, and the code. */
const refusals: Readonly<Record<string, { readonly config: object; readonly more?: object; readonly code: string }>> = {
  auth: { config: { apiKeys: [{ id: 'k', hash: 'a'.repeat(64), tenant: 't' }] }, code: 'unauthenticated' },
  'rate-limit': {
    config: { limits: [{ key_fields: ['tenant'], tokens_per_minute: 1 }] },
    code: 'exceeds_rate_limit',
  },
  prompt: { config: { templates: { main: { text: '{{ vars.nothing }}', version: '1' } } }, code: 'missing_variable' },
  postprocess: {
    config: {},
    more: { response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'objekt' } } } },
    code: 'invalid_schema',
  },
}

/** Makes a {@link Refusing} of the layers that a runner offers. */
export function refusingPolicy(runner: Subject): Refusing {
  const found = runner.layers.find(({ name }) => refusals[name])
  const layer = needed(found, `the runner offers none of the layers ${Object.keys(refusals).join(', ')}`)
  const { config, more = {}, code } = refusals[layer.name] as (typeof refusals)[string]
  const policy = runner.policy()
  const steps = policy.steps.map((each) =>
    each.layer === layer.name ? { ...each, step: stepFrom(layer, config) } : each,
  )
  return { policy: { ...policy, steps }, body: question(runner, more), layer: layer.name, code }
}

/** A policy of limits alone that lets one request a minute pass, for a caller that nobody has met; and a question. */
export function limitedOnce(runner: Subject): Pick<Refusing, 'policy' | 'body'> {
  needed(runner.model, 'the runner serves no model')
  const { steps: _, ...rest } = runner.policy(['rate-limit'])
  const layer = foldingLayers.find(({ name }) => name === 'rate-limit')
  const step = layer && stepFrom(layer, { limits: [{ key_fields: ['body.user'], requests_per_minute: 1 }] })
  const user = randomBytes(8).toString('hex')
  const version = layer?.native?.version ?? 1
  return {
    policy: { ...rest, steps: [{ layer: 'rate-limit', version, step: step ?? {} }] },
    body: question(runner, { user }),
  }
}
