import { adminOptions, adminsFromInvocation } from './admin-client.ts'
import { loadOrFaults } from './check.ts'
import { edgeFromInvocation, edgeOptions } from './doctor-edge.ts'
import { type Examined, examineRunner, examineStore, examineTelemetry } from './examine.ts'
import { examineAdmin } from './examine-admin.ts'
import { examineEdge } from './examine-edge.ts'
import { lineFromFault } from './fault-line.ts'
import { broken, doubtful, type Finding, fine } from './finding.ts'
import { formatFromInvocation, outputOption, plainText, printData } from './output.ts'
import { type Invocation, type Io, textOption, type Verb } from './verb.ts'

/** `foldgate doctor`: looks at everything a gateway needs, and says what to do about what is wrong. */
export const doctor: Verb = {
  name: 'doctor',
  summary: 'look at configuration, admin port, runners, store, telemetry and clocks, and say what to do',
  usage: '[--config FILE] [--admin URL]… | --via URL… --direct URL [--api-key-file FILE] [--model NAME]  [-o FORMAT]',
  example:
    'foldgate doctor --config gateway.yaml\nfoldgate doctor --via https://llm.example.com --direct http://10.0.0.4:8080 --api-key-file my.key',
  options: {
    config: { type: 'string', help: 'configuration to check; without it, the one that the admin port shows' },
    ...adminOptions,
    ...edgeOptions,
    ...outputOption,
  },
  async run(invocation) {
    const { io } = invocation
    const format = formatFromInvocation(invocation)
    const edge = edgeFromInvocation(invocation)
    const findings = edge ? await examineEdge(edge) : await examineGateways(invocation)
    if (!printData(io, format, findings)) {
      for (const finding of findings) io.out(format === 'name' ? finding.check : linesFromFinding(finding, io))
    }
    return findings.some((finding) => finding.result === 'failed') ? 1 : 0
  },
}

async function examineGateways(invocation: Invocation): Promise<Finding[]> {
  const file = textOption(invocation, 'config')
  const own = file === undefined ? undefined : await examineFile(file)
  const admins = await Promise.all(adminsFromInvocation(invocation).map(examineAdmin))
  const shown = admins.find((each) => each.shown)?.shown
  // A configuration shown by a gateway names files on its machine, which may not be this one.
  const subject = own?.subject ?? (file === undefined && shown ? { config: shown, base: process.cwd() } : undefined)
  const around = subject ? await examineSurroundings(subject) : []
  return [...(own?.findings ?? []), ...admins.flatMap((each) => each.findings), ...around]
}

async function examineFile(file: string): Promise<{ findings: Finding[]; subject?: Examined }> {
  const check = `config ${file}`
  const loaded = await loadOrFaults(file)
  if ('faults' in loaded) {
    return { findings: loaded.faults.map((fault) => broken(check, lineFromFault(fault), 'correct the file')) }
  }
  const { config, warnings, base } = loaded
  const doubts = warnings.map((warning) => doubtful(check, lineFromFault(warning), 'see the description of that field'))
  return { findings: [fine(check, 'is right'), ...doubts], subject: { config, base } }
}

async function examineSurroundings(subject: Examined): Promise<Finding[]> {
  const { config } = subject
  const examined = await Promise.all([
    ...config.runners.map((runner) => examineRunner(runner, subject)),
    examineStore(config),
    examineTelemetry(config),
  ])
  return examined.flat()
}

const marks = { ok: '✓', warn: '!', failed: '✗' } as const
const colors = { ok: 32, warn: 33, failed: 31 } as const

function linesFromFinding({ check, result, note, next }: Finding, { color }: Io): string {
  const mark = color ? `\u001b[${colors[result]}m${marks[result]}\u001b[0m` : marks[result]
  return `${mark} ${plainText(`${check}: ${note}`)}${next ? `\n  → ${plainText(next)}` : ''}`
}
