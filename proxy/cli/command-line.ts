import { parseArgs } from 'node:util'
import { closest } from '../../config/closest.ts'
import { GatewayError, gatewayError } from '../../plugins/errors.ts'
import { lineFromFault } from './fault-line.ts'
import { helpFromVerb, helpFromVerbs } from './help.ts'
import type { ExitCode, Io, Option, Verb } from './verb.ts'

/** Runs one command line: finds the verb, reads its options, runs it. Never throws; what goes wrong is said on stderr. */
export async function runCommandLine(argv: readonly string[], verbs: readonly Verb[], io: Io): Promise<ExitCode> {
  const [name, ...args] = argv
  if (name === undefined || isHelp(name)) {
    const wanted = verbs.find((verb) => verb.name === args[0])
    const help = wanted ? helpFromVerb(wanted) : helpFromVerbs(verbs)
    if (name === undefined) io.say(help)
    else io.out(help)
    return name === undefined ? 2 : 0
  }
  const verb = verbs.find((each) => each.name === name)
  if (!verb) return unknownVerb(name, verbs, io)
  if (wantsHelp(args, verb)) {
    io.out(helpFromVerb(verb))
    return 0
  }
  try {
    return await verb.run({ ...parsed(verb, args), args, io })
  } catch (reason) {
    return failed(reason, verb, io)
  }
}

const isHelp = (word: string): boolean => word === '--help' || word === '-h' || word === 'help'

function wantsHelp(args: readonly string[], verb: Verb): boolean {
  const end = args.indexOf('--')
  const own = end < 0 ? args : args.slice(0, end)
  return !verb.raw && own.some((word) => word === '--help' || word === '-h')
}

function unknownVerb(name: string, verbs: readonly Verb[], io: Io): ExitCode {
  const near = closest(
    name,
    verbs.map((verb) => verb.name),
  )
  const hint = near === undefined ? 'foldgate --help lists them' : `did you mean ${near}?`
  io.say(`foldgate: there is no verb ${JSON.stringify(name.slice(0, 40))}; ${hint}`)
  return 2
}

function parsed(verb: Verb, args: readonly string[]) {
  if (verb.raw) return { values: {}, positionals: [] }
  const { values, positionals } = parseStrictly(verb.options ?? {}, args)
  const [fewest, most] = verb.takes ?? [0, 0]
  if (positionals.length < fewest)
    throw gatewayError('usage', `something is missing: foldgate ${verb.name} ${verb.usage}`)
  if (positionals.length > most)
    throw gatewayError('usage', `${JSON.stringify(positionals[most])} is one argument too many`)
  return { values, positionals }
}

function parseStrictly(options: Readonly<Record<string, Option>>, args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true })
  } catch (reason) {
    const [message = ''] = (reason as Error).message.split(/\. (?=[A-Z])/)
    throw gatewayError('usage', message.charAt(0).toLowerCase() + message.slice(1), { cause: reason })
  }
}

function failed(reason: unknown, verb: Verb, io: Io): ExitCode {
  const usage = reason instanceof GatewayError && reason.code === 'usage'
  const message = reason instanceof Error ? reason.message : String(reason)
  io.say(`foldgate ${verb.name}: ${message}`)
  if (reason instanceof GatewayError)
    for (const fault of reason.detail.faults ?? []) io.say(`  ${lineFromFault(fault)}`)
  if (usage) io.say(`foldgate ${verb.name} --help says more`)
  return usage ? 2 : 1
}
