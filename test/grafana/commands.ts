import { parseArgs } from 'node:util'
import { verbs } from '../../proxy/cli/verbs.ts'

/** The `foldgate …` commands of a page: lines of its blocks, and code inside its sentences. */
export function commandsFrom(page: string): readonly string[] {
  const inBlocks = page
    .split(/^```/m)
    .flatMap((piece, turn) =>
      turn % 2 === 1 ? piece.split('\n').slice(1) : [...piece.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code),
    )
  return inBlocks.flatMap((line) => /^\s*(?:\$ )?(?:npm run )?foldgate (?:-- )?(.+?)(?:\s+#.*)?$/.exec(line)?.[1] ?? [])
}

/** What is wrong with a command, by the command line's own verbs and options; undefined for one that could be run. */
export function faultOf(command: string): string | undefined {
  const [name, ...args] = [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, bare]) => double ?? single ?? bare ?? '',
  )
  const verb = verbs.find((each) => each.name === name)
  if (!verb) return name === '--help' ? undefined : `${command}: there is no verb ${name}`
  if (verb.raw || args.includes('--help')) return undefined
  try {
    const { positionals, values } = parseArgs({
      args,
      options: verb.options ?? {},
      allowPositionals: true,
      strict: true,
    })
    const [fewest, most] = verb.takes ?? [0, 0]
    if (positionals.length < fewest || positionals.length > most)
      return `${command}: takes ${fewest} to ${most} arguments`
    return needsReason(verb.usage) && values['reason'] === undefined ? `${command}: says no reason` : undefined
  } catch (reason) {
    return `${command}: ${(reason as Error).message}`
  }
}

/** Whether a reason stands in the usage of a verb without brackets. */
function needsReason(usage: string): boolean {
  return usage.includes('--reason TEXT') && !usage.includes('[--reason TEXT]')
}
