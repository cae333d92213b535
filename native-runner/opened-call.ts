import type { Call } from '../plugins/call.ts'
import { credentialHeader, credentialsFromText } from '../plugins/caller-credential.ts'
import { callFromContext } from '../plugins/context-call.ts'
import { directivesFromBody } from '../plugins/directives.ts'
import { gatewayErrorFrom } from '../plugins/errors.ts'
import type { ExecutionContext } from '../plugins/execution-context.ts'
import type { ContextRefusal } from '../plugins/execution-context-refusal.ts'
import type { Acting, Mode } from '../plugins/layer.ts'
import type { Seated } from '../plugins/stack.ts'
import { traceFrom } from './generation.ts'
import type { CompiledPolicy } from './policies.ts'
import type { CompiledSide } from './policy-compile.ts'
import type { Asked, Room, Route } from './routes/route.ts'

/** A call whose context passed every check: the call, and the layers that act. */
export interface OpenedCall {
  readonly context: ExecutionContext
  /** The key that its context is under. */
  readonly kid: string
  readonly call: Call
  readonly seats: readonly Seated<Mode>[]
  /** Path of the first directive that does not hold: the operator's rules stand. */
  readonly dir?: string
}

/** The header that a context travels in. */
export const contextHeader = 'x-execution-context'

/**
 * Opens a call that bears a context: every check, then what its directives ask. `mode` overrides the modes of the context. Throws
 * `engine_unavailable` while the engine is first loaded.
 */
export async function openCall(
  asked: Asked,
  { execution }: Pick<Room, 'execution'>,
  { routes, mode }: { readonly routes?: Route['executes']; readonly mode?: Mode },
): Promise<OpenedCall | ContextRefusal> {
  await execution.opened()
  const credential = asked.headers[credentialHeader]
  const opened = execution.open({ header: asked.headers[contextHeader], body: asked.raw, credential })
  if (!opened.ok) return opened.refusal
  const { context, kid } = opened
  const headers = credential === undefined ? {} : credentialsFromText(credential)
  if (!headers) return { code: 'credential', detail: 'x-caller-credential is no dictionary of byte sequences' }
  const policy = execution.policies.get(context.pol) as CompiledPolicy
  const { route } = policy.policy
  if (routes && !routes.includes(route)) return { code: 'invalid', detail: `pol: a policy of ${route} is not for here` }
  useWhile(asked.signal, policy)
  const side = await policy.side(context.shadow ? 'copy' : 'runner')
  const told = { ...traceFrom(asked.headers), ...headers }
  const plain = callFromContext(context, { route, body: asked.raw, headers: told, signal: asked.signal })
  const { call, dir } = await withDirectives(plain, side)
  const seats = Object.entries(context.modes).map(
    ([name, named]): Seated<Mode> => ({ name, acting: side.acting.get(name) as Acting, mode: mode ?? named }),
  )
  return { context, kid, call, seats, ...(dir === undefined ? {} : { dir }) }
}

/** Nothing is closed under a call: its signal aborts when its connection has done with it, however it ended. */
function useWhile(signal: AbortSignal, policy: CompiledPolicy): void {
  const leave = policy.use()
  if (signal.aborted) leave()
  else signal.addEventListener('abort', leave, { once: true })
}

async function withDirectives(call: Call, side: CompiledSide): Promise<{ readonly call: Call; readonly dir?: string }> {
  if (!side.tightens) return { call }
  const found = directivesFromBody(call.body, { parse: () => call.request })
  if (!found) return { call }
  if ('fault' in found) return { call, dir: found.fault }
  try {
    await side.ready(found.directives)
    return { call: call.with({ directives: found.directives }) }
  } catch (fault) {
    return { call, dir: gatewayErrorFrom(fault).detail.field ?? 'execution_context' }
  }
}
