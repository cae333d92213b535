import { credentialHeader } from '../../plugins/caller-credential.ts'
import { credentialDigest, type ExecutionContext } from '../../plugins/execution-context.ts'
import { policyDigest } from '../../plugins/policy.ts'
import { type Case, mustBe, mustHold, mustRefuse, question } from './case.ts'
import { type ContextFault, contextFaults, draftOf, type Ground, groundOf, sendDraft } from './context-faults.ts'
import { formCases, refused } from './context-form-cases.ts'
import { inWords, jsonOf, type Said } from './exchange.ts'
import { paths, type Subject } from './subject.ts'

const order = 'the-order-of-checks'
const see = 'execution-context'
const endpoints = Object.values(paths)

/** Spoils a context with these faults, last first, and holds both endpoints to the code of the first. */
async function mustFail(ground: Ground, faults: readonly ContextFault[]): Promise<void> {
  const words = `a context ${faults.map((each) => each.words).join(', and ')}`
  for (const path of endpoints) {
    const draft = draftOf(ground)
    for (const fault of faults.toReversed()) fault.spoil(draft, ground)
    const [first] = faults as readonly [ContextFault]
    mustRefuse(await sendDraft(ground, draft, { path, words }), first.code)
  }
}

const singles: readonly Case[] = contextFaults.map((fault) => ({
  title: `a context ${fault.words} is refused: ${fault.code}`,
  see: order,
  run: async (runner) => mustFail(await groundOf(runner), [fault]),
}))

const several: readonly Case[] = [
  {
    title: 'of two faults the one that is checked first names the code',
    see: order,
    async run(runner) {
      const ground = await groundOf(runner)
      for (const [at, fault] of contextFaults.entries())
        for (const later of contextFaults.slice(at + 1)) await mustFail(ground, [fault, later])
    },
  },
  {
    title: 'of all faults from one on the first names the code',
    see: order,
    async run(runner) {
      const ground = await groundOf(runner)
      for (const [at] of contextFaults.entries()) await mustFail(ground, contextFaults.slice(at))
    },
  },
]

const times = (from: number, until: number) => () => {
  const now = Math.floor(Date.now() / 1_000)
  return { iat: now + from, exp: now + until }
}
const bounds: readonly Case[] = [
  refused('a context from the future is refused', 'expired', ({ payload }) => Object.assign(payload, times(45, 55)())),
  refused('a context that is good for more than a minute is refused', 'expired', ({ payload }) =>
    Object.assign(payload, times(0, 61)()),
  ),
  refused('a context that ends before it begins is refused', 'expired', ({ payload }) =>
    Object.assign(payload, times(0, 0)()),
  ),
  refused('a context whose deciding layer is given reads is refused', 'invalid', ({ payload }) => {
    const [layer = ''] = Object.keys(payload['modes'] as object)
    Object.assign(payload, { modes: { [layer]: 'enforce' }, reads: { [layer]: { level: 1 } } })
  }),
]

/** What must be taken, asked through `decide`. */
const taken = (title: string, over: (used: ExecutionContext) => Partial<ExecutionContext>): Case => ({
  title,
  see,
  async run(runner) {
    const { used } = await groundOf(runner)
    const body = question(runner)
    const calling = { path: paths.decide, policy: runner.policy(), mode: 'observe', body, over: over(used) } as const
    const said = await runner.acked({ ...calling, words: title })
    mustBe(said, 200, 'it is taken')
  },
})

const takes: readonly Case[] = [
  taken('a gateway whose clock is 20 s behind is understood', times(-31, -20)),
  taken('a gateway whose clock is 20 s ahead is understood', times(20, 30)),
  taken('another attempt of the same call is taken', ({ id, attempt }) => ({ id, attempt: attempt + 1 })),
  taken('a copy for comparison of the same call is taken', ({ id, attempt }) => ({ id, attempt, shadow: true })),
  taken('a context may be good for a minute', times(0, 60)),
]

const sendAs = async (ground: Ground, over: Partial<ExecutionContext>, words: string): Promise<Said> =>
  sendDraft(ground, draftOf(ground, over), { path: paths.decide, words })

const replays: readonly Case[] = [
  {
    title: 'the very same call is taken once',
    see,
    async run(runner) {
      const ground = await groundOf(runner)
      const draft = draftOf(ground)
      const send = (words: string) => sendDraft(ground, draft, { path: paths.decide, words })
      mustBe(await send('the first time'), 200, 'it is taken')
      mustRefuse(await send('the second time'), 'replay')
    },
  },
  {
    title: 'a send that was refused for its body is not used up',
    see,
    async run(runner) {
      const ground = await groundOf(runner)
      const draft = draftOf(ground)
      const send = (other: string, words: string) =>
        sendDraft(ground, { ...draft, body: draft.body + other }, { path: paths.decide, words })
      mustRefuse(await send(' ', 'with another body'), 'body')
      mustBe(await send('', 'then with the right one'), 200, 'it is remembered only after its body was checked')
    },
  },
  {
    title: 'a send that was refused for its policy is used up, and the next attempt is not',
    see,
    async run(runner) {
      const ground = await groundOf(runner)
      const { id } = runner.context('', {})
      const unknown = { id, pol: 'a'.repeat(64) }
      mustRefuse(await sendAs(ground, unknown, 'under an unknown policy'), 'policy-unknown')
      mustRefuse(await sendAs(ground, { id }, 'the same send under a known one'), 'replay')
      mustBe(await sendAs(ground, { id, attempt: 2 }, 'the next attempt'), 200, 'every send raises attempt')
    },
  },
  {
    title: 'a call and a decision about it are one identity',
    see,
    async run(runner) {
      const ground = await groundOf(runner)
      const draft = draftOf(ground)
      mustBe(await sendDraft(ground, draft, { path: paths.decide, words: 'first' }), 200, 'it is taken')
      mustRefuse(await sendDraft(ground, draft, { path: paths.chat, words: 'what was decided already' }), 'replay')
    },
  },
]

const credential = 'x-api-key=:Y29uZm9ybWFuY2U=:'
const bearing = async (runner: Subject, crd: string | undefined, sent: string | undefined, words: string) => {
  const ground = await groundOf(runner)
  const draft = draftOf(ground, crd === undefined ? {} : { crd: credentialDigest(crd) })
  return sendDraft(
    ground,
    { ...draft, ...(sent === undefined ? {} : { credential: sent }) },
    { path: paths.decide, words },
  )
}

const credentials: readonly Case[] = [
  {
    title: `a credential that was signed for travels in ${credentialHeader}`,
    see,
    run: async (runner) =>
      mustBe(await bearing(runner, credential, credential, 'with a credential'), 200, 'its digest is crd'),
  },
  {
    title: 'a credential that was exchanged is refused',
    see,
    run: async (runner) =>
      mustRefuse(await bearing(runner, credential, 'x-api-key=:Y29uZm9ybWFuY2Y=:', 'with another one'), 'credential'),
  },
  {
    title: 'a credential that was taken away is refused',
    see,
    run: async (runner) => mustRefuse(await bearing(runner, credential, undefined, 'without it'), 'credential'),
  },
]

const refusals: readonly Case[] = [
  {
    title: 'a decision is not given without a context',
    see: order,
    async run(runner) {
      const body = JSON.stringify(question(runner))
      mustRefuse(await runner.ask(paths.decide, { body, words: 'without a context' }), 'missing')
    },
  },
  {
    title: 'an unsupported layer is named, with the reason',
    see: order,
    async run(runner) {
      const ground = await groundOf(runner)
      const draft = draftOf(ground)
      contextFaults.at(-1)?.spoil(draft, ground)
      const said = await sendDraft(ground, draft, { path: paths.decide, words: 'naming the layer conformance' })
      mustRefuse(said, 'unsupported')
      const { layer, reason } = jsonOf(said) as { layer?: string; reason?: string }
      const must = 'layer is "conformance" and reason "unsupported-layer"'
      mustHold(layer === 'conformance' && reason === 'unsupported-layer', said, { came: inWords(said), must })
    },
  },
  {
    title: 'a layer whose step was refused is not executed under',
    see: order,
    async run(runner) {
      const { steps, ...rest } = runner.policy()
      const policy = { ...rest, steps: steps.map((each) => ({ ...each, version: 9_999 })) }
      await runner.register(policy)
      const calling = { path: paths.decide, policy, mode: 'observe', body: question(runner) } as const
      mustRefuse(await runner.send({ ...calling, words: `under policy ${policyDigest(policy)}` }), 'unsupported')
    },
  },
]

/** What becomes of contexts. */
export const contextCases: readonly Case[] = [
  ...singles,
  ...several,
  ...formCases,
  ...bounds,
  ...takes,
  ...replays,
  ...credentials,
  ...refusals,
]
