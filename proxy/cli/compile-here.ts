import { gatewayErrorFrom } from '../../plugins/errors.ts'
import type { Seat } from '../../plugins/host.ts'
import { layers } from '../../plugins/index.ts'
import type { Layer } from '../../plugins/layer.ts'
import type { PolicyStep } from '../../plugins/policy.ts'
import type { RuleFinding } from './finding-words.ts'

/**
 * What a runner with this seat would say of one rule: whether it has the form that the layer's half expects, how much of it can be held
 * to, and whether that half can be made of it.
 */
export async function findingHere({ layer, step }: PolicyStep, seat: Seat): Promise<RuleFinding> {
  const native = (layers as readonly Layer[]).find(({ name }) => name === layer)?.native
  if (!native) return { status: 'refused', code: 'UNKNOWN_LAYER' }
  const [fault] = native.step.faults(step)
  if (fault) return { status: 'refused', code: 'INVALID_ENUM_VALUE', path: fault.path, try: fault.message }
  try {
    const found = native.inspect?.(step, seat) ?? { status: 'compiled' }
    if (found.status === 'refused') return found
    const acting = await native.act(step, seat)
    await acting.close?.()
    return found
  } catch (reason) {
    const { message, detail } = gatewayErrorFrom(reason)
    const [first] = detail.faults ?? []
    const path = first?.path ?? detail.field ?? ''
    return { status: 'refused', code: 'UNRESOLVED_REF', path, try: first?.message ?? message }
  }
}
