import { essenceDigest } from '../../plugins/acknowledgement.ts'
import type { Policy } from '../../plugins/policy.ts'
import { type Case, mustHold } from './case.ts'
import { needed, Wanting } from './finding.ts'
import { caseForModel, type LawCase, publishedLaws } from './laws.ts'
import { paths, type Subject } from './subject.ts'

const { model: placeholder, layers } = publishedLaws()

/** Every published call that a layer is tried with. */
export const lawCases: readonly Case[] = Object.entries(layers).flatMap(([layer, { version, cases }]) =>
  cases.map((each) => ({
    title: `${layer}: ${each.title}`,
    see: 'essence',
    async run(runner: Subject) {
      needed(runner.capabilities.layers[layer], `the runner does not offer ${layer}`)
      const asked = needed(caseForModel(each, placeholder, runner.model), 'the runner serves no model')
      await tried(runner, asked, { layer, version })
    },
  })),
)

async function tried(runner: Subject, asked: LawCase, of: { layer: string; version: number }): Promise<void> {
  const { step, route, body, now, facts, reads, credential, expect } = asked
  const policy: Policy = { v: 1, route, steps: [{ ...of, step }] }
  const report = (await runner.register(policy)).layers[of.layer]
  const words = `${of.layer}: ${asked.title}`
  if (report?.status === 'refused')
    throw new Wanting({ asked: `PUT of the step of "${words}"`, came: JSON.stringify(report), must: 'it is compiled' })
  const said = await runner.acked({
    path: paths.decide,
    policy,
    mode: 'observe',
    body,
    over: { now, facts, shadow: true, ...(reads ? { reads: { [of.layer]: reads } } : {}) },
    ...(credential === undefined ? {} : { credential }),
    words,
  })
  const { o, code, e } = said.acknowledgement.layers[of.layer] ?? {}
  const wanted = `o=${expect.o}${expect.code === undefined ? '' : ` and code=${expect.code}`}`
  const fits = o === expect.o && (expect.code === undefined || code === expect.code)
  mustHold(fits, said, { came: `o=${o}${code === undefined ? '' : ` and code=${code}`}`, must: wanted })
  const right = essenceDigest(expect.essence)
  const must = `e=:${right}:, the digest of the essence ${JSON.stringify(expect.essence).slice(0, 400)}`
  mustHold(e === right, said, { came: `e=:${e}:`, must })
}
