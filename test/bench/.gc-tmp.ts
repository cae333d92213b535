import { caseNamed, startCase } from '/work/main/test/bench/cases.ts'
import { callsTo, saturateOnce, warm } from '/work/main/test/bench/measure.ts'
import { benchOptions } from '/work/main/test/bench/options.ts'
import { createRig } from '/work/main/test/bench/rig.ts'
await using rig = await createRig(benchOptions(['--tree','/tmp/bnch/tree']))
const { proxy, subject, load } = await startCase(rig, 'x', { case: caseNamed(process.argv[2]), nodeFlags: ['--trace-gc'] })
await warm(rig, subject, load)
const n0 = proxy.process.stdout.length
const r = await saturateOnce(rig, subject, { ...callsTo(subject, load.bodyBytes), ...load, forMs: 6000 })
const out = proxy.process.stdout.slice(n0)
const lines = out.split('\n').filter(l => /ms: /.test(l))
const by: Record<string, [number, number]> = {}
for (const l of lines) { const m = /ms: ([\w-]+(?: \([^)]*\))?).*?(?:MB, |pooled: [\d.]+ MB, )([\d.]+) \//.exec(l); const k = m?.[1] ?? 'x'; (by[k] ??= [0, 0])[0]++; by[k][1] += Number(m?.[2] ?? 0) }
console.log(r.calls, 'calls', r.cpu, 's cpu'); console.log(by); console.log(lines.slice(-6).join('\n'))
