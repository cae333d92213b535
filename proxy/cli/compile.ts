import type { LoadedConfig } from '../../config/load.ts'
import type { PolicyStep } from '../../plugins/policy.ts'
import { adminOptions, adminsFromInvocation } from './admin-client.ts'
import { loadOrFaults } from './check.ts'
import { explained, tableFromCompiled } from './compile-lines.ts'
import type { SeatSettings } from './compile-seat.ts'
import type { Compiled, Found } from './compiled.ts'
import { egressFrom } from './egress.ts'
import { lineFromFault } from './fault-line.ts'
import { formatFromInvocation, outputOption, plainText, printData } from './output.ts'
import { type ExitCode, type Invocation, textOption, type Verb } from './verb.ts'

/** `foldgate compile FILE`: the layers of a configuration as policies, and what runners make of them. */
export const compile: Verb = {
  name: 'compile',
  summary:
    'fold the layers of a configuration into policies, and say what a runner makes of each; exit code 1 for a refusal',
  usage: 'FILE [--explain] [--egress HOST]… [--secrets-dir DIR] [--admin URL]… [-o FORMAT]',
  example: 'foldgate compile gateway.yaml --explain --egress id.example.com --secrets-dir /run/secrets',
  options: {
    explain: { type: 'boolean', help: 'each finding in words: code, limit, value, path and what would do' },
    egress: { type: 'string', multiple: true, help: 'a host that the runner would open connections to' },
    'secrets-dir': { type: 'string', help: 'the folder of the secrets that the runner would have' },
    ...adminOptions,
    admin: {
      type: 'string',
      multiple: true,
      help: 'tell what the runner processes of this gateway have reported instead',
    },
    ...outputOption,
  },
  takes: [1, 1],
  async run(invocation) {
    const { io } = invocation
    const [file = ''] = invocation.positionals
    const format = formatFromInvocation(invocation)
    const allows = egressFrom((invocation.values['egress'] ?? []) as readonly string[])
    const loaded = await loadOrFaults(file)
    if ('faults' in loaded) {
      for (const fault of loaded.faults) io.say(lineFromFault(fault))
      return 1
    }
    const { compiled, open } = await judged(loaded, allows, invocation)
    const found = compiled.routes.flatMap(({ steps }) => steps.flatMap((step) => step.found))
    const refused = found.some(({ status }) => status === 'refused')
    if (!printData(io, format, { file, ok: !refused && open.length === 0, ...compiled, open })) {
      if (format === 'name') for (const { digest } of compiled.routes) io.out(digest)
      else if (compiled.routes.length > 0 || compiled.stays.length > 0)
        io.out(tableFromCompiled(compiled, format, io.color))
      else io.say('no layer is on')
      if (invocation.values['explain'] === true) io.out(explained(compiled))
    }
    for (const words of open) io.say(plainText(`not known: ${words}`))
    const code: ExitCode = refused ? 1 : open.length > 0 ? 4 : 0
    return code
  },
}

interface Judged {
  readonly compiled: Compiled
  /** What is not known, in words. */
  readonly open: readonly string[]
}

async function judged(loaded: LoadedConfig, allows: (url: string) => boolean, invocation: Invocation): Promise<Judged> {
  // Here and not above: the other verbs need no layers, and must work while one of them is broken.
  const { compiledFromConfig, withFindings } = await import('./compiled.ts')
  const compiled = compiledFromConfig(loaded)
  if (invocation.values['admin'] === undefined) {
    const settings = { allows, secretsDir: textOption(invocation, 'secrets-dir') }
    return { compiled: withFindings(compiled, await foundHere(loaded, compiled, settings)), open: [] }
  }
  const { reportedThere } = await import('./compile-there.ts')
  const { found, open } = await reportedThere(adminsFromInvocation(invocation), compiled.routes, invocation.io)
  return { compiled: withFindings(compiled, found), open: [...new Set(open)] }
}

/** What a runner would say that is started as the options say. */
async function foundHere(
  loaded: LoadedConfig,
  { routes }: Compiled,
  settings: SeatSettings,
): Promise<ReadonlyMap<string, readonly Found[]>> {
  const { createCompileSeat } = await import('./compile-seat.ts')
  const { findingHere } = await import('./compile-here.ts')
  const closing = new AbortController()
  const seat = createCompileSeat(loaded, settings, closing.signal)
  const steps = new Map(routes.flatMap(({ policy }) => policy.steps.map((step) => [step.layer, step] as const)))
  const found = new Map<string, readonly Found[]>()
  for (const [layer, step] of steps)
    found.set(layer, [{ by: 'here', ...(await findingHere(step as PolicyStep, seat)) }])
  closing.abort()
  await seat.store.close()
  return found
}
