import { acknowledgementHeaders } from '../../plugins/acknowledgement.ts'
import type { Mode } from '../../plugins/layer.ts'
import type { Policy } from '../../plugins/policy.ts'
import { type Case, mustBe, mustHold, question } from './case.ts'
import { jsonOf, type Said } from './exchange.ts'
import { needed } from './finding.ts'
import { limitedOnce, refusingPolicy } from './refusing.ts'
import type { Acked, Subject } from './subject.ts'

const see = 'acknowledgement'
const noModel = 'the runner serves no model'
const streaming = { stream: true, stream_options: { include_usage: true } }

/** Asks the engine a question under a policy. */
async function asked(runner: Subject, more: object = {}, policy: Policy = runner.policy()): Promise<Acked> {
  needed(runner.model, noModel)
  const words = more === streaming ? 'a plain question, streamed' : 'a plain question'
  const said = await runner.acked({ policy, body: question(runner, more), words })
  mustBe(said, 200, 'a plain question under a plain policy is answered')
  return said
}

interface SaidUsage {
  readonly prompt_tokens?: number
  readonly completion_tokens?: number
}

/** The usage that the caller sees: in the body, or in the last event that has one. */
function usageOf(said: Said): SaidUsage {
  const bodies = said.text.startsWith('data:')
    ? said.text.split('\n').map((line) => jsonOf({ text: line.replace(/^data: ?/, '') }))
    : [jsonOf(said)]
  const found = bodies.map((each) => (each as { usage?: SaidUsage } | undefined)?.usage).filter(Boolean)
  return found.at(-1) ?? {}
}

function mustCount(said: Acked, where: string, usage: Acked['acknowledgement']['usage']): void {
  const { prompt_tokens: input, completion_tokens: output } = usageOf(said)
  const must = `usage in ${where} has in=${input} and out=${output}, as the caller was told`
  mustHold(usage?.in === input && usage?.out === output, said, { came: JSON.stringify(usage) ?? 'no usage', must })
}

/** What answers under a context say of themselves. */
export const acknowledgementCases: readonly Case[] = [
  {
    title: 'an answer is acknowledged in its header, each layer with mode and version, under the right mac',
    see,
    run: async (runner) => void (await asked(runner)),
  },
  {
    title: 'an acknowledgement tells the digest of the capabilities',
    see,
    async run(runner) {
      const said = await asked(runner)
      const { caps } = said.acknowledgement.runner
      const must = `caps is ${runner.capabilities.caps}, as in the document`
      mustHold(caps === runner.capabilities.caps, said, { came: `caps is ${caps}`, must })
    },
  },
  {
    title: 'layers that only observe are acknowledged as observers, and decide nothing',
    see,
    async run(runner) {
      needed(runner.model, noModel)
      const { policy, body, layer } = refusingPolicy(runner)
      const calling = { policy, body, over: { modes: { [layer]: 'observe' as Mode } } }
      const said = await runner.acked({ ...calling, words: `${layer} observes a call that it would refuse` })
      mustBe(said, 200, 'an observer refuses nothing')
      const { o } = said.acknowledgement.layers[layer] ?? {}
      mustHold(o === 'refuse', said, { came: `o=${o}`, must: `${layer} says that it would refuse` })
    },
  },
  {
    title: 'a layer that decides and refuses says so with its code, and nobody further in is asked',
    see,
    async run(runner) {
      const { policy, body, layer, code } = refusingPolicy(runner)
      const said = await runner.acked({ policy, body, words: `${layer} must refuse` })
      const { [layer]: member, ...others } = said.acknowledgement.layers
      mustHold(said.status >= 400, said, {
        came: `status ${said.status}`,
        must: 'a refusal has a status of 400 or more',
      })
      const fits = member?.o === 'refuse' && member.code === code
      mustHold(fits, said, { came: JSON.stringify(member), must: `${layer} has o=refuse and code=${code}` })
      const inner = policy.steps.slice(policy.steps.findIndex((each) => each.layer === layer) + 1)
      const asked = inner.find((each) => Object.hasOwn(others, each.layer))
      const came = `${asked?.layer}: ${JSON.stringify(asked && others[asked.layer])}`
      mustHold(!asked, said, { came, must: 'layers further in than a refusal are not named: they were not asked' })
    },
  },
  {
    title: 'the refusal of a layer is no refusal of the context',
    see,
    async run(runner) {
      const { policy, body } = refusingPolicy(runner)
      const said = await runner.acked({ policy, body, words: 'that a layer must refuse' })
      const type = said.headers['content-type']
      const must = 'it comes in OpenAI’s dialect, as application/json'
      mustHold(type?.startsWith('application/json') === true, said, { came: `content-type: ${type}`, must })
    },
  },
  {
    title: 'a stream is acknowledged in its header and, under the right mac, in the trailer',
    see,
    async run(runner) {
      const said = await asked(runner, streaming)
      mustHold(said.end !== undefined, said, { came: `${said.headers['content-type']}`, must: 'text/event-stream' })
      const { trailer } = said.headers
      const must = `Trailer announces ${acknowledgementHeaders.end} (RFC 9110 §6.6.2)`
      const announced = trailer?.toLowerCase().includes(acknowledgementHeaders.end) === true
      mustHold(announced, said, { came: `trailer: ${trailer}`, must })
    },
  },
  {
    title: 'a layer that acts while the answer is made is armed first, and ok at the end of a stream',
    see,
    async run(runner) {
      const arming = runner.layers.find(({ native }) => native?.arms)?.name
      const layer = needed(arming, 'no layer that is offered acts on the answer')
      const said = await asked(runner, streaming)
      const [first, last] = [said.acknowledgement.layers[layer]?.o, said.end?.layers[layer]?.o]
      const came = `o=${first}, then o=${last}`
      mustHold(first === 'armed' && last === 'ok', said, { came, must: `${layer} has o=armed, then o=ok` })
    },
  },
  {
    title: 'a whole answer tells the tokens that were used, as the caller is told them',
    see,
    async run(runner) {
      const said = await asked(runner)
      mustCount(said, acknowledgementHeaders.head, said.acknowledgement.usage)
    },
  },
  {
    title: 'a stream tells at its end the tokens that were used, as the caller is told them',
    see,
    async run(runner) {
      const said = await asked(runner, streaming)
      mustCount(said, acknowledgementHeaders.end, said.end?.usage)
    },
  },
  {
    title: 'the limits name their bucket, and at the end what was used of it',
    see,
    async run(runner) {
      const said = await asked(runner, {}, runner.policy(['rate-limit']))
      const { bkt, used } = said.acknowledgement.layers['rate-limit'] ?? {}
      const came = `bkt=${bkt}, used=${used}`
      const must = 'rate-limit has bkt, and used in a whole answer'
      mustHold(bkt !== undefined && used !== undefined, said, { came, must })
    },
  },
  {
    title: 'a directive that does not hold is named, and the call is served by the operator’s rules',
    see: 'directives',
    async run(runner) {
      needed(
        runner.layers.find(({ tighten }) => tighten),
        'no layer that is offered takes directives',
      )
      const said = await asked(runner, { execution_context: { conformance: 1 } })
      const { dir } = said.acknowledgement.runner
      const must = 'runner has dir, with a path in execution_context'
      mustHold(dir?.startsWith('execution_context') === true, said, { came: `dir is ${dir}`, must })
    },
  },
  {
    title: 'the limits of copies for comparison are a state apart',
    see,
    async run(runner) {
      const { policy, body } = limitedOnce(runner)
      const copies = { policy, body, mode: 'observe' as Mode, over: { shadow: true } }
      for (const words of ['as a copy', 'as another copy']) await runner.acked({ ...copies, words })
      const said = await runner.acked({ policy, body, words: 'then as the call itself' })
      mustBe(said, 200, 'copies are not charged to the caller')
    },
  },
  {
    title: 'limits hold from one call to the next',
    see,
    async run(runner) {
      const { policy, body } = limitedOnce(runner)
      mustBe(await runner.acked({ policy, body, words: 'the first call' }), 200, 'one request a minute is allowed')
      mustBe(await runner.acked({ policy, body, words: 'the second call' }), 429, 'a second one is not')
    },
  },
]
