import { acknowledgementHeaders } from '../../plugins/acknowledgement.ts'
import {
  problemSchema,
  problemTypePrefix,
  type RefusalCode,
  refusalFromProblem,
  refusalKinds,
} from '../../plugins/execution-context-refusal.ts'
import { createSchema, sayFault } from '../../plugins/schema.ts'
import { inWords, jsonOf, type Said } from './exchange.ts'
import { Wanting } from './finding.ts'
import type { Subject } from './subject.ts'

/** The sections, in the order in which they run. */
export const sections = ['capabilities', 'plain', 'policies', 'contexts', 'acknowledgement', 'decide', 'laws'] as const

/** One section. */
export type Section = (typeof sections)[number]

/** One thing that a runner must do. */
export interface Case {
  /** A fact. */
  readonly title: string
  /** Heading of the page that says so, as an anchor. */
  readonly see: string
  /** Throws `Wanting` when it does not hold, `Skipped` when it cannot be tried. */
  run(runner: Subject): Promise<void>
}

const problems = createSchema<object>(problemSchema)

/** Throws unless an answer is the refusal of a context with this code, and not acknowledged as if something had been done. */
export function mustRefuse(said: Said, code: RefusalCode): void {
  const { status } = refusalKinds[code]
  const must = `${status} as application/problem+json, with type ${problemTypePrefix}${code}`
  const refusal = refusalFromProblem(said.status, said.headers['content-type'], Buffer.from(said.text))
  if (refusal?.code !== code) {
    const [fault] = problems.faults(jsonOf(said))
    const why = said.status === status && fault ? ` (the body: ${sayFault(fault)})` : ''
    throw new Wanting({ asked: said.asked, came: inWords(said) + why, must })
  }
  if (said.headers[acknowledgementHeaders.head] !== undefined)
    throw new Wanting({ asked: said.asked, came: `${must}, with an acknowledgement`, must: 'nothing was executed' })
}

/** Throws unless an answer has this status. */
export function mustBe(said: Said, status: number, must: string): void {
  if (said.status !== status) throw new Wanting({ asked: said.asked, came: inWords(said), must: `${status}: ${must}` })
}

/** Throws unless something holds of an answer. */
export function mustHold(holds: boolean, said: Said, words: { readonly came: string; readonly must: string }): void {
  if (!holds) throw new Wanting({ asked: said.asked, ...words })
}

/** A question of one message that no cache has seen. */
export function question({ model }: Subject, more: object = {}): object {
  asked += 1
  const content = `conformance ${process.pid} ${asked} ${Date.now()}`
  return { ...(model === undefined ? {} : { model }), messages: [{ role: 'user', content }], max_tokens: 16, ...more }
}
let asked = 0
