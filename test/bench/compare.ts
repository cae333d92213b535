import { parseArgs } from 'node:util'
import { caseNamed, startCase } from './cases.ts'
import { median, shown } from './figures.ts'
import { callsTo, inTurn, ratioOf, type SaturatedRound, saturateOnce, warm } from './measure.ts'
import { benchOptions } from './options.ts'
import { createRig } from './rig.ts'

/**
 * `node test/bench/compare.ts CASE VARIANT VARIANT …`: what a call costs in variants of the gateway, measured in turn. A variant is a
 * directory with the project, or flags for Node, or both with a comma between: `/tmp/other,--max-semi-space-size=32`.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '7' }, ms: { type: 'string', default: '2000' } },
})
const [name = 'none', ...variants] = positionals

await using rig = await createRig(benchOptions([]))
const running = await Promise.all(
  variants.map((variant) => {
    const parts = variant.split(',')
    const tree = parts.find((part) => part && !part.startsWith('--'))
    const nodeFlags = parts.filter((part) => part.startsWith('--'))
    return startCase(rig, variant, { case: caseNamed(name), nodeFlags, ...(tree ? { tree } : {}) })
  }),
)
for (const { subject, load } of running) await warm(rig, subject, load)
const subjects = running.map(({ subject }) => subject)
const loads = new Map(running.map(({ subject, load }) => [subject.name, load]))
const measured = await inTurn(Number(values.rounds), subjects, (subject) => {
  const load = loads.get(subject.name) ?? { bodyBytes: 0, stream: false, connections: 1 }
  return saturateOnce(rig, subject, { ...callsTo(subject, load.bodyBytes), ...load, forMs: Number(values.ms) })
})

const cost = ({ cpu, calls }: SaturatedRound): number => (cpu / calls) * 1e6
const first = measured.get(subjects[0]?.name ?? '') ?? []
for (const [variant, rounds] of measured) {
  const costs = rounds.map(cost)
  const [middle, least] = [shown(median(costs)), shown(Math.min(...costs))]
  console.log(`${middle} µs CPU a call, least ${least}, ${shown(ratioOf(rounds, first, cost))} × the first  ${variant}`)
}
