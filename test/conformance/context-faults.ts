import { credentialHeader } from '../../plugins/caller-credential.ts'
import { bodyDigest, type ExecutionContext } from '../../plugins/execution-context.ts'
import type { RefusalCode } from '../../plugins/execution-context-refusal.ts'
import { signJws } from '../../plugins/jws.ts'
import type { SigningKey } from '../../plugins/jws-key.ts'
import { policyDigest } from '../../plugins/policy.ts'
import { question } from './case.ts'
import type { Said } from './exchange.ts'
import { strangerKey } from './stranger.ts'
import { contextHeader, paths, type Subject } from './subject.ts'

/** A call on its way to be spoilt. */
export interface Draft {
  payload: Record<string, unknown>
  by: SigningKey
  /** What becomes of the signed header. */
  finish: (header: string) => string
  credential?: string
  readonly body: string
}

/** One thing that can be wrong with a context. */
export interface ContextFault {
  /** What is wrong, as it stands behind “a context”. */
  readonly words: string
  readonly code: RefusalCode
  spoil(draft: Draft, ground: Ground): void
}

/** What drafts are made over. */
export interface Ground {
  readonly runner: Subject
  /** A context that was accepted before. */
  readonly used: ExecutionContext
}

const long = Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`claim${at}`, 'x'.repeat(1_000)]))

/** Every check, in the order of the protocol. */
export const contextFaults: readonly ContextFault[] = [
  {
    words: 'that is too large',
    code: 'too-large',
    spoil: ({ payload }) => {
      payload['facts'] = { ...(payload['facts'] as object), claims: long }
    },
  },
  {
    words: 'with padding',
    code: 'invalid',
    spoil: (draft) => {
      draft.finish = (header) => `${header}=`
    },
  },
  {
    words: 'under a kid that nobody has',
    code: 'signature',
    spoil: (draft) => {
      draft.by = { ...draft.by, kid: 'conformance-nobody' }
    },
  },
  {
    words: 'that a stranger signed',
    code: 'signature',
    spoil: (draft) => {
      const { kid } = draft.by
      draft.by = { ...strangerKey(draft.by), kid }
    },
  },
  {
    words: 'for another instance',
    code: 'audience',
    spoil: ({ payload }) => {
      payload['aud'] = 'b_other'
    },
  },
  {
    words: 'whose time is over',
    code: 'expired',
    spoil: ({ payload }) => Object.assign(payload, { iat: seconds() - 60, exp: seconds() - 50 }),
  },
  {
    words: 'with a member that its schema does not know',
    code: 'invalid',
    spoil: ({ payload }) => {
      payload['more'] = 1
    },
  },
  {
    words: 'that was signed for another body',
    code: 'body',
    spoil: ({ payload }) => {
      payload['bod'] = bodyDigest(Buffer.from('another'))
    },
  },
  {
    words: 'that was used before',
    code: 'replay',
    spoil: ({ payload }, { used: { id, attempt, shadow } }) => Object.assign(payload, { id, attempt, shadow }),
  },
  {
    words: 'with a credential that nobody signed for',
    code: 'credential',
    spoil: (draft) => {
      draft.credential = 'authorization=:QmVhcmVyIHg=:'
    },
  },
  {
    words: 'under a policy that nobody registered',
    code: 'policy-unknown',
    spoil: ({ payload }) => {
      payload['pol'] = 'a'.repeat(64)
    },
  },
  {
    words: 'that names a layer which the policy does not have',
    code: 'unsupported',
    spoil: ({ payload }) => {
      payload['modes'] = { ...(payload['modes'] as object), conformance: 'observe' }
    },
  },
]

const seconds = (): number => Math.floor(Date.now() / 1_000)

/** Registers a policy and uses one context, so that contexts can be spoilt in every way. */
export async function groundOf(runner: Subject): Promise<Ground> {
  const policy = runner.policy()
  const { context } = await runner.acked({ path: paths.decide, policy, mode: 'observe', body: question(runner) })
  return { runner, used: context }
}

/** A context that would be accepted. */
export function draftOf({ runner }: Ground, over: Partial<ExecutionContext> = {}): Draft {
  const policy = runner.policy()
  const body = JSON.stringify(question(runner))
  const modes = Object.fromEntries(policy.steps.map(({ layer }) => [layer, 'observe' as const]))
  const payload = { ...runner.context(body, { pol: policyDigest(policy), modes, ...over }) }
  return { payload, by: runner.key, finish: (header) => header, body }
}

/** Sends a draft. */
export function sendDraft(
  { runner }: Ground,
  draft: Draft,
  { path, words }: { path: string; words: string },
): Promise<Said> {
  const { payload, by, finish, credential, body } = draft
  return runner.ask(path, {
    headers: {
      'content-type': 'application/json',
      [contextHeader]: finish(signJws(JSON.stringify(payload), by, 'exec-ctx+jws')),
      ...(credential === undefined ? {} : { [credentialHeader]: credential }),
    },
    body,
    words,
  })
}
