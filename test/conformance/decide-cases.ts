import { type Case, mustBe, mustHold, question } from './case.ts'
import { refusingPolicy } from './refusing.ts'
import { paths, type Subject } from './subject.ts'

const see = 'decide'

const decided = (runner: Subject, words: string, more: object = {}) =>
  runner.acked({ path: paths.decide, policy: runner.policy(), mode: 'observe', body: question(runner, more), words })

/** What a decision is. */
export const decideCases: readonly Case[] = [
  {
    title: 'a decision is an acknowledgement of every named layer, and nothing else',
    see,
    async run(runner) {
      const said = await decided(runner, 'with every layer')
      mustBe(said, 200, 'a decision is given')
      const { usage } = said.acknowledgement
      const must = 'no engine is asked: no usage, and no answer in the body'
      const came = `usage ${JSON.stringify(usage)}, body ${said.text.slice(0, 200)}`
      mustHold(usage === undefined && !said.text.includes('choices'), said, { came, must })
    },
  },
  {
    title: 'a decision about a model that nobody serves asks no engine',
    see,
    async run(runner) {
      const names = runner.layers.map(({ name }) => name).filter((name) => name !== 'routing')
      const body = question(runner, { model: 'conformance-nobody-serves-this' })
      const calling = { path: paths.decide, policy: runner.policy(names), mode: 'observe', body } as const
      mustBe(
        await runner.acked({ ...calling, words: 'about an unknown model' }),
        200,
        'only the engine knows its models',
      )
    },
  },
  {
    title: 'a layer that would refuse keeps nobody further in from being asked',
    see,
    async run(runner) {
      const { policy, body, layer, code } = refusingPolicy(runner)
      const calling = { path: paths.decide, policy, mode: 'observe', body } as const
      const said = await runner.acked({ ...calling, words: `${layer} must refuse` })
      const { o, code: came } = said.acknowledgement.layers[layer] ?? {}
      const must = `${layer} has o=refuse and code=${code}, and the others say what they would do`
      mustHold(o === 'refuse' && came === code, said, { came: `${layer} has o=${o} and code=${came}`, must })
    },
  },
  {
    title: 'a layer that is named to decide only observes in a decision',
    see,
    async run(runner) {
      const { policy, body, layer } = refusingPolicy(runner)
      const said = await runner.acked({ path: paths.decide, policy, body, words: `${layer} must refuse, and decides` })
      const missing = policy.steps.find((each) => !said.acknowledgement.layers[each.layer])
      const must = 'all named layers are asked, whatever their modes'
      mustHold(missing === undefined, said, { came: `nothing of ${missing?.layer}`, must })
    },
  },
  {
    title: 'a decision has an essence of every layer',
    see: 'essence',
    async run(runner) {
      const said = await decided(runner, 'with every layer')
      const [layer] = Object.entries(said.acknowledgement.layers).find(([, { e }]) => e === undefined) ?? []
      const must = 'e is the first 16 bytes of the SHA-256 of the canonical essence'
      mustHold(layer === undefined, said, { came: `no e of ${layer}`, must })
    },
  },
  {
    title: 'a decision about a stream is an acknowledgement as well',
    see,
    run: async (runner) => mustBe(await decided(runner, 'for a stream', { stream: true }), 200, 'a decision is given'),
  },
]
