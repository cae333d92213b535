import type { Call } from '../call.ts'
import { textOfMessage, type Usage } from '../chat.ts'
import { type Completion, type CompletionChoice, chunkFromCompletion, completionFromChunks } from '../chunks.ts'
import { GatewayError, gatewayError } from '../errors.ts'
import type { Host } from '../host.ts'
import type { Again, Mode } from '../layer.ts'
import { type Reply, replyFromCompletion } from '../reply.ts'
import { createCleaner } from './cleaner.ts'
import { type Examination, examineChoice, textOfChoice } from './examine.ts'
import { blockedCategory, type Judged, qualityOf } from './judges.ts'
import { hintedCall } from './retry.ts'
import { sendToReview } from './review.ts'

/** Settling one call whose answer must be seen whole. */
export interface WholeJob extends Omit<Examination, 'notes'> {
  readonly call: Call
  readonly host: Host
  /** An observer asks nobody again, and no judge. */
  readonly mode: Mode
  readonly again: Again
}

interface Outcome {
  readonly completion: Completion
  readonly faults: readonly string[]
  /** What was thrown for a block. */
  readonly error?: GatewayError
}

/**
 * Holds a whole answer to its rules: reads it to the end, cleans and checks it, and where the rules say so asks for it again, with what was
 * wrong. Throws `output_invalid` naming what failed when no attempt will do. Usage is that of all attempts.
 */
export async function settleWhole(job: WholeJob, first: Reply): Promise<Reply> {
  const { rules } = job.compiled
  const retries = rules.onInvalid === 'retry' && job.mode === 'enforce' ? rules.maxRetries : 0
  let reply = first
  let spent: Usage | undefined
  for (let attempt = 0; ; attempt++) {
    const completion = await readWhole(reply, rules.maxBufferBytes)
    spent = sumOfUsage(spent, completion.usage ?? undefined)
    const outcome = await attempted(job, completion)
    if (outcome.faults.length === 0) {
      return withCompletion(first, reply, spent ? { ...outcome.completion, usage: spent } : outcome.completion)
    }
    if (attempt >= retries) throw outcome.error ?? invalid(outcome.faults)
    job.host.count('postprocess.retried')
    reply = await job.again(hintedCall(job.call, completion, outcome.faults))
    if (!reply.ok) return reply
  }
}

function invalid(faults: readonly string[]): GatewayError {
  const told = faults.slice(0, 5).join('; ')
  return gatewayError('output_invalid', `the answer breaks its rules: ${told}`, {
    faults: faults.map((message) => ({ path: '', message })),
  })
}

function withCompletion(first: Reply, { status, headers, source, target }: Reply, completion: Completion): Reply {
  const { streamed, includeUsage } = first
  const init = { status, headers, streamed, includeUsage, source, ...(target ? { target } : {}) }
  return replyFromCompletion(init, completion)
}

/** A reply read to its end. Throws `runner_protocol` when it is longer than `maxBytes` of text. */
async function readWhole(reply: Reply, maxBytes: number): Promise<Completion> {
  let length = 0
  const counted = reply.through({
    push(chunk) {
      for (const { delta, text } of chunk.choices ?? []) length += JSON.stringify(delta ?? text ?? '').length
      if (length > maxBytes) {
        throw gatewayError('runner_protocol', `the answer is longer than the ${maxBytes} bytes that can be checked`)
      }
      return chunk
    },
  })
  return (await counted.collect()).completion
}

async function attempted(job: WholeJob, completion: Completion): Promise<Outcome> {
  try {
    return await held(job, completion)
  } catch (error) {
    // What is blocked is a fault like any other here, since nothing of it has left.
    if (!(error instanceof GatewayError) || error.code !== 'output_invalid') throw error
    return { completion, faults: [`it was stopped by the rule ${error.detail.field ?? ''}`], error }
  }
}

/** The answer held to all rules, in their order. */
async function held(job: WholeJob, completion: Completion): Promise<Outcome> {
  const faults: string[] = []
  const several = (completion.choices?.length ?? 0) > 1
  const say = ({ index }: CompletionChoice, told: readonly string[]): void => {
    for (const each of told) faults.push(several ? `choice ${index}: ${each}` : each)
  }
  const examination = { ...job, notes: [] }
  const examined = (completion.choices ?? []).map((choice) => examineChoice(choice, examination))
  for (const { choice, faults: told } of examined) say(choice, told)
  if (faults.length > 0) return { completion, faults }
  const cleaned = cleanedWhole(examination, { ...completion, choices: examined.map(({ choice }) => choice) })
  for (const choice of cleaned.choices ?? []) {
    const text = textOfChoice(choice)
    if (text !== undefined) say(choice, await judgedFaults(job, text))
  }
  return { completion: cleaned, faults }
}

function cleanedWhole({ cleaning, demand, notes }: WholeJob & Examination, completion: Completion): Completion {
  if (!cleaning) return completion
  // Tags are out by now, and JSON was cleaned value by value.
  const json = demand !== undefined
  const rest = { ...cleaning, tags: undefined, keepsContent: json, suffix: json ? undefined : cleaning.suffix }
  const cleaner = createCleaner(rest, notes)
  const said = cleaner.push(chunkFromCompletion(completion)) ?? []
  return completionFromChunks([said, cleaner.end?.() ?? []].flat())
}

async function judgedFaults({ compiled, call, host, mode }: WholeJob, text: string): Promise<string[]> {
  const { armed: rules, suffix } = compiled
  const faults: string[] = []
  const own = suffix && text.endsWith(suffix.text) ? text.slice(0, -suffix.text.length) : text
  const length = rules.min_output_length > 0 ? [...own].length : 0
  if (length < rules.min_output_length) faults.push(`it has ${length} of ${rules.min_output_length} characters`)
  if (mode === 'observe') return faults
  const judged: Judged = { question: lastQuestion(call), answer: text, signal: call.signal }
  const category = await blockedCategory(rules, judged, host)
  if (category !== undefined) {
    host.count('postprocess.blocked')
    faults.push(`it was stopped by the rule safety.${category}`)
  }
  const score =
    rules.quality_score && faults.length === 0 ? await qualityOf(rules.quality_score, judged, host) : undefined
  if (score === undefined || !rules.quality_score) return faults
  if (rules.review) sendToReview(rules.review, call, { score, text }, host)
  if (score < rules.quality_score.min) faults.push(`its quality_score ${score} is under ${rules.quality_score.min}`)
  return faults
}

function lastQuestion({ request }: Call): string {
  const asked = request.messages?.findLast(({ role }) => role === 'user')
  if (asked) return textOfMessage(asked)
  return typeof request.prompt === 'string' ? request.prompt : ''
}

function sumOfUsage(one: Usage | undefined, other: Usage | undefined): Usage | undefined {
  if (!one || !other) return one ?? other
  const sum: Record<string, unknown> = { ...other }
  for (const name of ['prompt_tokens', 'completion_tokens', 'total_tokens'] as const) {
    if (one[name] !== undefined || other[name] !== undefined) sum[name] = (one[name] ?? 0) + (other[name] ?? 0)
  }
  return sum
}
