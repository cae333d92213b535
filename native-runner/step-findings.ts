import { gatewayErrorFrom } from '../plugins/errors.ts'
import type { NativeContract, StepFinding } from '../plugins/layer.ts'
import type { PolicyStep } from '../plugins/policy.ts'

/** Why a step is refused before its layer looks at it: layer, version or form; undefined when it is not. */
export function findingFromStep(
  { version, step }: PolicyStep,
  native: NativeContract | undefined,
): StepFinding | undefined {
  if (!native) return { status: 'refused', code: 'UNKNOWN_LAYER' }
  if (version !== native.version)
    return { status: 'refused', code: 'VERSION_MISMATCH', limit: native.version, value: version }
  const [fault] = native.step.faults(step)
  if (!fault) return undefined
  const code = fault.message.startsWith('unknown key') ? 'UNSUPPORTED_KEYWORD' : 'INVALID_ENUM_VALUE'
  return { status: 'refused', code, path: cut(fault.path, 512), try: cut(fault.message, 1_024) }
}

/** What a layer threw when it was to act by a step: what the step names is not here. */
export function findingFromAct(fault: unknown): StepFinding {
  const { message, detail } = gatewayErrorFrom(fault)
  const [first] = detail.faults ?? []
  return {
    status: 'refused',
    code: 'UNRESOLVED_REF',
    path: cut(first?.path ?? detail.field ?? '', 512),
    try: cut(first?.message ?? message, 1_024),
  }
}

function cut(text: string, units: number): string {
  return text.slice(0, units)
}
