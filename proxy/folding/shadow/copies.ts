import { hash } from 'node:crypto'
import { gatewayErrorFrom } from '../../../plugins/errors.ts'
import type { Answer } from '../../answer.ts'
import type { CallRecord } from '../../call-record.ts'
import { answerFromBytes, type Answer as Whole } from '../diff/answer.ts'
import type { SkipReason } from '../diff/comparison.ts'
import type { JudgePair } from '../diff/pair-outcome.ts'
import type { ShadowBudget } from '../diff/shadow-budget.ts'
import { strataFromCall } from '../diff/strata.ts'
import type { StratifiedSample } from '../diff/stratified-sample.ts'
import { createStreamMemory, createStreamTee } from '../diff/stream-memory.ts'
import { answerText } from './answer-text.ts'
import { askCopy, type CopyAnswer, type CopyAsk, type CopyParts } from './copy-ask.ts'
import { type CopyLayers, type CopyPlan, planOf } from './copy-plan.ts'
import { heardAnswer } from './heard-answer.ts'
import type { TripleBook } from './triples.ts'

/** Has the runner answer some calls twice more beside the caller's own answer: the old way again, and the new way. */
export interface Copies {
  /** The answer on its way to the caller; heard as it goes by, where the call is drawn. */
  heard(answer: Answer, record: CallRecord): Answer
  /** Nothing is under way any more; for tests. */
  idle(): Promise<void>
}

/** What {@link Copies} are made with. */
export interface CopiesParts extends CopyLayers {
  readonly sample: StratifiedSample
  readonly budget: ShadowBudget
  readonly judge: JudgePair
  readonly triples: TripleBook
  /** What a copy of this plan is asked with; undefined where no runner can be asked. */
  way(plan: CopyPlan): Omit<CopyParts, 'signal'> | undefined
  /** Milliseconds since the epoch. */
  now(): number
  readonly closed: AbortSignal
}

/** Tokens that an answer is reckoned with where its call does not say. */
const fewTokens = 256
/** A copy that takes longer is given up, in milliseconds. */
const patienceMs = 120_000

/** Makes {@link Copies}. The copies begin when the first byte of the caller's answer has left, both at once and in an order drawn by lot. */
export function createCopies(parts: CopiesParts): Copies {
  const memory = createStreamMemory()
  const running = new Set<Promise<void>>()
  return {
    heard(answer, record) {
      const plan = planOf(record, parts)
      if (!plan || answer.status >= 300 || !isDrawn(plan, parts)) return answer
      const tee = createStreamTee(memory)
      const served = Promise.withResolvers<Whole | SkipReason>()
      return heardAnswer(answer, {
        tee,
        begun() {
          const work = begin(plan, served.promise, parts)
          running.add(work)
          void work.finally(() => running.delete(work))
        },
        ended(whole) {
          const body = tee.take()
          const headers = { 'content-type': answer.streamed ? 'text/event-stream' : 'application/json' }
          const kept = body ? answerFromBytes({ status: answer.status, headers, body }) : 'too_large'
          served.resolve(whole ? kept : 'failed')
        },
      })
    },
    async idle() {
      while (running.size > 0) await Promise.all(running)
    },
  }
}

function isDrawn({ call }: CopyPlan, { sample, now }: CopiesParts): boolean {
  const tier = call.facts.principal?.tier ?? ''
  return sample.takes({ id: call.id, tier, strata: strataFromCall(call, { cacheHit: false }) }, now())
}

function tokensOf({ call }: CopyPlan): number {
  const { max_tokens: most, max_completion_tokens: mostNew } = call.request as Readonly<Record<string, unknown>>
  const answer = [mostNew, most].find((each) => typeof each === 'number') as number | undefined
  return 2 * (Math.ceil(call.body.length / 4) + (answer ?? fewTokens))
}

interface Judging {
  readonly plan: CopyPlan
  readonly way: Omit<CopyParts, 'signal'>
  readonly served: Promise<Whole | SkipReason>
}

/** Only now is room asked for: what never begins must not keep any. */
async function begin(plan: CopyPlan, served: Judging['served'], parts: CopiesParts): Promise<void> {
  const way = parts.way(plan)
  const lease = way ? parts.budget.ask(tokensOf(plan)) : 'off'
  if (way && typeof lease !== 'string') return judged({ plan, way, served }, parts).finally(() => lease.end())
  const why = typeof lease === 'string' ? lease : 'off'
  parts.triples.left(plan, way ? (why === 'live-traffic' ? why : 'budget') : 'runner-unable', why)
}

/** Asks for both copies and judges the triple. Never throws: what cannot be judged is left out. */
async function judged({ plan, way, served }: Judging, parts: CopiesParts): Promise<void> {
  const { triples, judge, closed } = parts
  // The caller's own bytes go first.
  await new Promise((done) => setImmediate(done))
  const signal = AbortSignal.any([closed, AbortSignal.timeout(patienceMs)])
  try {
    const [old, now] = await bothCopies(plan, (ask) => askCopy(ask, { ...way, signal }))
    const first = await served
    if (typeof first === 'string') return triples.left(plan, first)
    if (old.cacheHit || now.cacheHit) return triples.left(plan, 'cache-hit')
    // The old way must at least repeat that it answers.
    if (old.status >= 300) return triples.left(plan, 'failed')
    const outcome = await judge(textOf(first), textOf(old), textOf(now))
    triples.add({ plan, outcome, repeated: answerOf(old), renewed: answerOf(now) })
  } catch (reason) {
    const late = signal.aborted || gatewayErrorFrom(reason).code === 'runner_timeout'
    triples.left(plan, late ? 'timeout' : 'failed', 'failed')
  }
}

function answerOf({ status, completion }: CopyAnswer): Whole {
  return { status, headers: {}, body: completion ?? null }
}

function textOf(answer: Whole | CopyAnswer): string {
  return answerText(answer.status, 'completion' in answer ? answer.completion : (answer as Whole).body)
}

async function bothCopies(
  { old, now, call }: CopyPlan,
  ask: (copy: CopyAsk) => Promise<CopyAnswer>,
): Promise<readonly [CopyAnswer, CopyAnswer]> {
  const swapped = Number.parseInt(hash('sha256', `order\n${call.id}`).slice(0, 2), 16) % 2 === 1
  const [first, second] = swapped ? [now, old] : [old, now]
  const [one, two] = await Promise.all([ask(first), ask(second)])
  return swapped ? [two, one] : [one, two]
}
