import { acknowledgementCases } from './acknowledgement-cases.ts'
import { capabilityCases } from './capability-cases.ts'
import { type Case, type Section, sections } from './case.ts'
import { contextCases } from './context-cases.ts'
import { decideCases } from './decide-cases.ts'
import { NoAnswer, Skipped, Wanting, type Wants } from './finding.ts'
import { lawCases } from './law-cases.ts'
import { plainCases } from './plain-cases.ts'
import { policyCases } from './policy-cases.ts'
import { createSubject, type Subject, type SubjectOptions } from './subject.ts'

/** What came of one case. */
export interface CaseResult extends Partial<Wants> {
  readonly section: Section
  readonly title: string
  readonly result: 'ok' | 'failed' | 'skipped'
  /** Where the protocol says so. */
  readonly see: string
  /** Why it was skipped. */
  readonly why?: string
}

/** What came of all of them. */
export interface Conformance {
  readonly url: string
  /** Name and version of the runner, where it told them. */
  readonly runner: string
  readonly ok: number
  readonly failed: number
  readonly skipped: number
  readonly ms: number
  readonly cases: readonly CaseResult[]
}

/** Every case, by section. */
export const allCases: Readonly<Record<Section, readonly Case[]>> = {
  capabilities: capabilityCases,
  plain: plainCases,
  policies: policyCases,
  contexts: contextCases,
  acknowledgement: acknowledgementCases,
  decide: decideCases,
  laws: lawCases,
}

/** The page that the protocol stands on. */
export const page = 'native-runner/README.md'

/** Holds a runner to the protocol, section by section. Throws `NoAnswer` when it cannot be reached. */
export async function conformanceOf(
  options: SubjectOptions,
  only: readonly Section[] = sections,
): Promise<Conformance> {
  const start = performance.now()
  const runner = await createSubject(options)
  const cases: CaseResult[] = []
  for (const section of sections.filter((each) => only.includes(each)))
    for (const each of allCases[section]) cases.push({ section, ...(await resultOf(each, runner)) })
  const count = (result: CaseResult['result']): number => cases.filter((each) => each.result === result).length
  const [ok, failed, skipped] = [count('ok'), count('failed'), count('skipped')]
  const ms = Math.round(performance.now() - start)
  return { url: options.url, runner: nameOf(runner), ok, failed, skipped, ms, cases }
}

async function resultOf({ title, see, run }: Case, runner: Subject): Promise<Omit<CaseResult, 'section'>> {
  const known = { title, see: `${page}#${see}` }
  try {
    await run(runner)
    return { ...known, result: 'ok' }
  } catch (reason) {
    if (reason instanceof Skipped) return { ...known, result: 'skipped', why: reason.message }
    return { ...known, result: 'failed', ...wantsOf(reason) }
  }
}

/** What is thrown otherwise is a fault of ours, and said as such. */
function wantsOf(reason: unknown): Wants {
  if (reason instanceof Wanting) return reason.wants
  if (reason instanceof NoAnswer)
    return { asked: reason.asked, came: `no answer: ${reason.message}`, must: 'every request is answered' }
  const said = reason instanceof Error ? (reason.stack ?? reason.message) : String(reason)
  return { asked: 'this case', came: `the case itself crashed: ${said}`, must: 'a case holds or says what is wanting' }
}

function nameOf(runner: Subject): string {
  try {
    return runner.capabilities.runner
  } catch {
    return 'a runner without a name'
  }
}
