import type { Option, Verb } from './verb.ts'

/** What `foldgate --help` prints. */
export function helpFromVerbs(verbs: readonly Verb[]): string {
  const width = Math.max(...verbs.map((verb) => verb.name.length))
  return [
    'usage: foldgate VERB [OPTIONS]',
    '',
    ...verbs.map((verb) => `  ${verb.name.padEnd(width)}  ${verb.summary}`),
    '',
    'foldgate VERB --help says more about one.',
    'exit codes: 0 ok, 1 error, 2 usage, 3 degraded or rolled back, 4 inconclusive',
  ].join('\n')
}

/** What `foldgate VERB --help` prints. */
export function helpFromVerb(verb: Verb): string {
  const options = Object.entries(verb.options ?? {}).map(
    ([name, option]) => [optionHead(name, option), option.help] as const,
  )
  const width = Math.max(0, ...options.map(([head]) => head.length))
  return [
    `usage: foldgate ${verb.name} ${verb.usage}`.trimEnd(),
    '',
    verb.summary,
    ...(options.length > 0 ? ['', ...options.map(([head, help]) => `  ${head.padEnd(width)}  ${help}`)] : []),
    '',
    'example:',
    ...verb.example.split('\n').map((line) => `  ${line}`),
  ].join('\n')
}

function optionHead(name: string, { short, type }: Option): string {
  return `${short ? `-${short}, ` : ''}--${name}${type === 'string' ? ` ${name.split('-').at(-1)?.toUpperCase()}` : ''}`
}
