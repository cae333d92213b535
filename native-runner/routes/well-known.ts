import { openPolicy, policyQuestionRefusal } from '../../plugins/policy-carrier.ts'
import { decide as decideCall } from '../execute.ts'
import type { Execution } from '../execution.ts'
import { contextHeader } from '../opened-call.ts'
import type { Asked, Route } from './route.ts'

const root = '/.well-known/execution-context'

/** `GET /.well-known/execution-context`: what this instance can do. */
export const capabilities: Route = {
  method: 'GET',
  path: root,
  signed: true,
  async answer(_asked, { execution }) {
    await execution.opened()
    return { status: 200, headers: { 'cache-control': 'no-store' }, body: await execution.capabilities() }
  },
}

/** `PUT /.well-known/execution-context/policies/{digest}`: registers a policy, signed; answers what became of each step. */
export const putPolicy: Route = {
  method: 'PUT',
  path: `${root}/policies/:digest`,
  signed: true,
  async answer(asked, { execution }) {
    await execution.opened()
    const digest = asked.params['digest'] ?? ''
    const opened = openPolicy(asked.raw.toString('latin1'), opening(execution, digest))
    if (!opened.ok) return execution.refused(opened.refusal)
    return { status: 200, body: await execution.policies.register(digest, opened.policy) }
  },
}

/** `GET /.well-known/execution-context/policies/{digest}`: the same answer again, to a signed question. */
export const getPolicy: Route = {
  method: 'GET',
  path: `${root}/policies/:digest`,
  signed: true,
  async answer(asked, { execution }) {
    await execution.opened()
    const digest = asked.params['digest'] ?? ''
    const refusal = policyQuestionRefusal(asked.headers[contextHeader], opening(execution, digest))
    if (refusal) return execution.refused(refusal)
    const report = execution.policies.get(digest)?.report
    if (!report) return execution.refused({ code: 'policy-unknown', detail: `policy ${digest} is not registered` })
    return { status: 200, body: report }
  },
}

/** `POST /.well-known/execution-context/decide`: what the named layers would say, without the engine. */
export const decide: Route = {
  method: 'POST',
  path: `${root}/decide`,
  signed: true,
  answer: (asked: Asked, room) => decideCall(asked, room),
}

function opening({ keys, boot, clock }: Execution, digest: string) {
  return { keys, aud: boot, now: clock.now(), digest }
}
