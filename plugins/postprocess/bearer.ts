import type { Rules } from './rules.ts'

const judges = ['moderation', 'quality_score', 'review'] as const

/** The rules with each judge's token, read by `file`, among its headers. The same object where no judge has one. `at` names each place. */
export function withBearers(rules: Rules, file: (path: string, at: string) => Buffer | undefined): Rules {
  const armed: Record<string, unknown> = {}
  for (const name of judges) {
    const judge = rules[name]
    if (!judge?.tokenFile) continue
    const token = file(judge.tokenFile, `${name}.tokenFile`)
    if (!token) continue
    const text = token.toString('latin1').replace(/\r?\n$/, '')
    armed[name] = { ...judge, headers: { ...judge.headers, authorization: `Bearer ${text}` } }
  }
  return Object.keys(armed).length > 0 ? { ...rules, ...armed } : rules
}

/** The rules without what judges are let in by, which says nothing about answers. The same object where there is none. */
export function withoutCredentials(rules: Rules): Rules {
  const bare: Record<string, unknown> = {}
  for (const name of judges) {
    const judge = rules[name]
    if (judge && (judge.tokenFile !== null || Object.keys(judge.headers).length > 0))
      bare[name] = { ...judge, headers: {}, tokenFile: null }
  }
  return Object.keys(bare).length > 0 ? { ...rules, ...bare } : rules
}

/** The first judge of these rules that sends headers, which may hold a credential; undefined when none does. */
export function judgeWithHeaders(rules: Partial<Rules>): string | undefined {
  return judges.find((name) => Object.keys(rules[name]?.headers ?? {}).length > 0)
}

/** The rules with every file named by `name` and no headers. Members that are not there stay away. */
export function withNamedTokens<T extends Partial<Rules>>(rules: T, name: (path: string) => string): T {
  const named: Record<string, unknown> = {}
  for (const each of judges) {
    const judge = rules[each]
    if (judge)
      named[each] = { ...judge, headers: {}, tokenFile: judge.tokenFile === null ? null : name(judge.tokenFile) }
  }
  return { ...rules, ...named }
}
