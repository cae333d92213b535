import { signJws } from '../../plugins/jws.ts'
import { type Policy, policyDigest } from '../../plugins/policy.ts'
import { maxCarrierBytes, sealPolicy, sealPolicyQuestion } from '../../plugins/policy-carrier.ts'
import { type PolicyReport, reportFault } from '../../plugins/policy-report.ts'
import { type Case, mustBe, mustHold, mustRefuse, question } from './case.ts'
import { inWords, jsonOf, type Said } from './exchange.ts'
import { strangerKey } from './stranger.ts'
import { contextHeader, paths, type Subject, wellKnown } from './subject.ts'

const see = 'policies'
const urlOf = (digest: string): string => `${wellKnown}/policies/${digest}`

/** A step that no runner has: what it holds is whatever a case wants. */
const strange = (step: object, more: Policy['steps'] = []): Policy => ({
  v: 1,
  route: 'chat',
  steps: [{ layer: 'conformance', version: 1, step: step as Policy['steps'][number]['step'] }, ...more],
})
const plain = strange({ nothing: true })

const put = ({ ask }: Subject, body: string, more: { readonly words: string; readonly digest?: string }) =>
  ask(urlOf(more.digest ?? policyDigest(plain)), {
    method: 'PUT',
    headers: { 'content-type': 'application/jose' },
    body,
    words: more.words,
  })

/** A policy put with something wrong about it. */
const refusedPut = (title: string, code: Parameters<typeof mustRefuse>[1], spoilt: Spoilt): Case => ({
  title,
  see,
  async run(runner) {
    const { body, digest } = spoilt(runner)
    mustRefuse(await put(runner, body, { words: title, ...(digest === undefined ? {} : { digest }) }), code)
  },
})
type Spoilt = (runner: Subject) => { readonly body: string; readonly digest?: string }

const payloadOf = ({ carrier }: Subject, more: object): string => {
  const { now, ...who } = carrier()
  const iat = Math.floor(now / 1_000)
  return JSON.stringify({ v: 1, ...who, iat, exp: iat + 10, pol: policyDigest(plain), policy: plain, ...more })
}
const carried = (runner: Subject, more: object) => ({
  body: signJws(payloadOf(runner, more), runner.key, 'exec-policy+jws'),
})

const ask = (runner: Subject, words: string, { digest, header }: { digest: string; header?: string }) =>
  runner.ask(urlOf(digest), { method: 'GET', headers: header ? { [contextHeader]: header } : {}, words })

const reportOf = (said: Said): PolicyReport['layers'] => (jsonOf(said) as PolicyReport).layers

async function reported(runner: Subject, policy: Policy): Promise<Said> {
  const said = await runner.put(policy)
  mustBe(said, 200, 'a policy that is well signed is taken, whatever becomes of its steps')
  const fault = reportFault(jsonOf(said), { digest: policyDigest(policy), policy })
  const must = 'the report holds to native-runner/abi/policy-report.schema.json and names each step'
  mustHold(fault === undefined, said, { came: `${fault}; ${inWords(said)}`, must })
  return said
}

/** What becomes of policies. */
export const policyCases: readonly Case[] = [
  {
    title: 'a policy is taken, and each of its steps reported as compiled',
    see,
    async run(runner) {
      const said = await reported(runner, runner.policy())
      const [name, report] = Object.entries(reportOf(said)).find(([, { status }]) => status !== 'compiled') ?? []
      const came = `${name} is ${report?.status} with ${report?.code} at ${report?.path}: ${report?.try}`
      mustHold(name === undefined, said, { came, must: 'a plain step of a layer that is offered is compiled' })
    },
  },
  {
    title: 'a policy that is put again is answered with the same report',
    see,
    async run(runner) {
      const [first, again] = [await reported(runner, plain), await reported(runner, plain)]
      mustHold(first.text === again.text, again, { came: again.text, must: `it is compiled once: ${first.text}` })
    },
  },
  {
    title: 'a signed question is answered with the report of its policy',
    see,
    async run(runner) {
      const first = await reported(runner, plain)
      const digest = policyDigest(plain)
      const header = sealPolicyQuestion(digest, runner.carrier(), runner.key)
      const said = await ask(runner, 'signed', { digest, header })
      mustBe(said, 200, 'a policy that is known is reported on')
      mustHold(said.text === first.text, said, { came: said.text, must: `the report of its PUT: ${first.text}` })
    },
  },
  {
    title: 'a question about a policy that nobody registered is answered with policy-unknown',
    see,
    async run(runner) {
      const digest = policyDigest(strange({ nobody: Date.now() }))
      const header = sealPolicyQuestion(digest, runner.carrier(), runner.key)
      mustRefuse(await ask(runner, 'about an unknown policy', { digest, header }), 'policy-unknown')
    },
  },
  {
    title: 'a question without a signature is refused',
    see,
    run: async (runner) => mustRefuse(await ask(runner, 'unsigned', { digest: policyDigest(plain) }), 'missing'),
  },
  {
    title: 'a question that was signed for another policy is refused',
    see,
    async run(runner) {
      const header = sealPolicyQuestion('a'.repeat(64), runner.carrier(), runner.key)
      mustRefuse(await ask(runner, 'about another one', { digest: policyDigest(plain), header }), 'body')
    },
  },
  {
    title: 'the canonical form is that of RFC 8785, with the digits of large integers kept',
    see: 'canonical-form',
    async run(runner) {
      const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }
      const numbers = [0.1, 1e21, 1e-7, -0, 100, 5e-324, 1.5e300, rawJSON('9007199254740993')]
      const texts = ['é', '\u2028', '\u0007', '"\\/', '😀', '\u00e9\u0301', '']
      const members = { '\ufb33': 1, '😀': 2, é: 3, a: 4, A: 5, '10': 6, '9': 7, '': 8 }
      await reported(runner, strange({ numbers, texts, members, nested: [[{ b: null, a: [true, false] }]] }))
    },
  },
  {
    title: 'a layer that is not there is refused in the report, and takes no other with it',
    see,
    async run(runner) {
      const { steps } = runner.policy()
      const said = await reported(runner, strange({}, steps))
      const { conformance, ...others } = reportOf(said)
      const fits = conformance?.status === 'refused' && conformance.code === 'UNKNOWN_LAYER'
      mustHold(fits, said, { came: JSON.stringify(conformance), must: 'it is refused with UNKNOWN_LAYER' })
      const holds = Object.values(others).every(({ status }) => status === 'compiled')
      mustHold(holds, said, { came: said.text, must: 'the other steps are compiled' })
    },
  },
  {
    title: 'a step of another version is refused in the report',
    see,
    async run(runner) {
      const { steps, ...policy } = runner.policy()
      const said = await reported(runner, { ...policy, steps: steps.map((each) => ({ ...each, version: 9_999 })) })
      const other = Object.values(reportOf(said)).find(({ code }) => code !== 'VERSION_MISMATCH')
      mustHold(!other, said, { came: JSON.stringify(other), must: 'each is refused with VERSION_MISMATCH' })
    },
  },
  {
    title: 'a step with a member that its schema does not know is refused in the report',
    see,
    async run(runner) {
      const { steps, ...policy } = runner.policy()
      const spoilt = steps.map((each) => ({ ...each, step: { ...each.step, conformance_unknown: 1 } }))
      const said = await reported(runner, { ...policy, steps: spoilt })
      const taken = Object.entries(reportOf(said)).find(([, { status }]) => status !== 'refused')
      mustHold(!taken, said, { came: JSON.stringify(taken), must: 'steps are held to their schema strictly' })
    },
  },
  {
    title: 'a policy that was taken is executed under',
    see,
    async run(runner) {
      const policy = runner.policy()
      await runner.acked({ path: paths.decide, policy, mode: 'observe', body: question(runner) })
    },
  },
  refusedPut('a policy that a stranger signed is refused', 'signature', (runner) => ({
    body: sealPolicy(plain, runner.carrier(), strangerKey(runner.key)),
  })),
  refusedPut('a policy under a kid that nobody has is refused', 'signature', (runner) => ({
    body: sealPolicy(plain, runner.carrier(), { ...runner.key, kid: 'conformance-nobody' }),
  })),
  refusedPut('a context in the place of a policy is refused', 'invalid', (runner) => ({
    body: signJws(payloadOf(runner, {}), runner.key, 'exec-ctx+jws'),
  })),
  refusedPut('a body that is no token is refused', 'invalid', () => ({ body: JSON.stringify(plain) })),
  refusedPut('a policy under the URL of another one is refused', 'body', (runner) => ({
    ...carried(runner, {}),
    digest: policyDigest(runner.policy()),
  })),
  refusedPut('a policy whose signed digest is another one is refused', 'body', (runner) =>
    carried(runner, { pol: 'a'.repeat(64) }),
  ),
  refusedPut('a policy that is not what its digest says is refused', 'body', (runner) =>
    carried(runner, { policy: strange({ nothing: false }) }),
  ),
  refusedPut('a policy for another instance is refused', 'audience', (runner) => carried(runner, { aud: 'b_other' })),
  refusedPut('a policy whose time is over is refused', 'expired', (runner) =>
    carried(runner, { iat: 1_700_000_000, exp: 1_700_000_010 }),
  ),
  refusedPut('a policy in which a layer stands twice is refused', 'invalid', (runner) =>
    carried(runner, { policy: strange({}, plain.steps) }),
  ),
  refusedPut('a carrier with a member that its schema does not know is refused', 'invalid', (runner) =>
    carried(runner, { more: 1 }),
  ),
  refusedPut('a policy of more than 1 MiB is refused', 'too-large', (runner) => ({
    body: sealPolicy(strange({ long: 'x'.repeat(maxCarrierBytes) }), runner.carrier(), runner.key),
  })),
]
