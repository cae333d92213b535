import { jsonFromText } from '../chat.ts'
import { gatewayError } from '../errors.ts'
import type { Host } from '../host.ts'
import { severitiesOf } from './compile.ts'
import type { ModerationRules, OnFailure, QualityRules, Rules, Severity } from './rules.ts'

/** One answer to be judged: what was asked last, and what came back. */
export interface Judged {
  readonly question: string
  readonly answer: string
  readonly signal: AbortSignal
}

/** From which score on `block_all` minds a category: scorers that know one at all give every text a trace of it. */
const leastSign = 0.01

/**
 * The category that ends this answer; undefined when it may leave. Categories that the judge does not know are its failure unless there
 * are terms for them. Throws `runner_error` when nobody could judge and the rules say `refuse`.
 */
export async function blockedCategory(rules: Rules, judged: Judged, host: Host): Promise<string | undefined> {
  const { moderation, safety, safetyTerms } = rules
  const wanted = safety.filter(({ threshold }) => threshold !== 'block_none')
  if (!moderation || wanted.length === 0) return undefined
  const judge: Judge = { who: 'moderation', onFailure: moderation.onFailure, host }
  const scores = await orFailure(judge, () => scoresOf(moderation, judged, host))
  if (!scores) return undefined
  for (const { category, threshold } of wanted) {
    const score = scores.get(moderation.categories[category] ?? category)
    if (score === undefined) {
      if (Object.hasOwn(safetyTerms, category)) continue
      await orFailure(judge, () => Promise.reject(unusable('moderation')))
    } else if (
      isOver(score, moderation.levels, severitiesOf[threshold]) ||
      (threshold === 'block_all' && score >= leastSign)
    ) {
      return category
    }
  }
  return undefined
}

function isOver(score: number, levels: ModerationRules['levels'], severities: readonly Severity[]): boolean {
  return severities.some((severity) => score >= levels[severity])
}

interface Judge {
  readonly who: 'moderation' | 'quality_score'
  readonly onFailure: OnFailure
  readonly host: Host
}

/** What `ask` gives; undefined when it fails and the rules let that pass. */
async function orFailure<T>({ who, onFailure, host }: Judge, ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask()
  } catch (cause) {
    host.log.warn(
      { who, error: cause instanceof Error ? cause.message : String(cause) },
      'an answer could not be judged',
    )
    if (onFailure === 'pass') return undefined
    throw gatewayError('runner_error', `the answer could not be judged by ${who}`, { cause })
  }
}

const unusable = (who: string) => gatewayError('runner_protocol', `${who} answered with something that is no judgement`)

async function scoresOf(rules: ModerationRules, judged: Judged, host: Host): Promise<Map<string, number>> {
  if (rules.kind === 'endpoint')
    return scoresFromModeration(await post(rules, { input: judged.answer }, { judged, host }))
  const said = await host.runners.ask({
    runner: rules.runner,
    body: {
      model: rules.model,
      messages: [
        { role: 'user', content: judged.question },
        { role: 'assistant', content: judged.answer },
      ],
      temperature: 0,
      max_tokens: 128,
    },
    timeoutMs: rules.timeoutMs,
    signal: judged.signal,
  })
  return scoresFromGuard(said, Object.values(rules.categories))
}

/** The scores of an answer in the shape of OpenAI's moderation endpoint; a category that is only flagged scores 1. */
export function scoresFromModeration(answer: unknown): Map<string, number> {
  const [result] = (answer as { results?: readonly Record<string, unknown>[] } | null)?.results ?? []
  if (!result) throw unusable('moderation')
  const flags = Object.entries((result['categories'] ?? {}) as Record<string, unknown>)
  const scores = Object.entries((result['category_scores'] ?? {}) as Record<string, unknown>)
  const known = scores.filter((each): each is [string, number] => typeof each[1] === 'number')
  return new Map([...flags.map(([name, flag]): [string, number] => [name, flag === true ? 1 : 0]), ...known])
}

/** The scores in a guard model's words: `safe`, or `unsafe` and a line of category names, or a JSON object of scores. */
export function scoresFromGuard(said: string, names: readonly string[]): Map<string, number> {
  const text = said.trim()
  if (text.startsWith('{')) {
    const scores = Object.entries(jsonFromText(text) as Record<string, unknown>)
    return new Map(scores.map(([name, score]) => [name, Number(score)]))
  }
  const verdict = /^(un)?safe\b/i.exec(text)
  if (!verdict) throw unusable('moderation')
  const found = verdict[1] ? (text.slice(verdict[0].length).match(/[\w-]+/g) ?? []) : []
  return new Map([
    ...names.map((name): [string, number] => [name, 0]),
    ...found.map((name): [string, number] => [name, 1]),
  ])
}

/** The score of an answer, 0 to 1; undefined when nobody could give one and the rules let that pass. Throws `runner_error`. */
export function qualityOf(rules: QualityRules, judged: Judged, host: Host): Promise<number | undefined> {
  return orFailure({ who: 'quality_score', onFailure: rules.onFailure, host }, async () => {
    const { question, answer } = judged
    if (rules.scorer === 'endpoint') {
      const said = (await post(rules, { question, text: answer }, { judged, host })) as { score?: unknown } | null
      return usableScore(Number(said?.score))
    }
    const messages = [
      { role: 'system', content: rules.instructions },
      { role: 'user', content: `Question:\n${question}\n\nAnswer:\n${answer}` },
    ]
    const { runner, model, timeoutMs } = rules
    const body = { model, messages, temperature: 0, max_tokens: 16 }
    const said = await host.runners.ask({ runner, body, timeoutMs, signal: judged.signal })
    return usableScore(Number(/\d+(?:\.\d+)?/.exec(said)?.[0] ?? Number.NaN))
  })
}

function usableScore(score: number): number {
  if (!(score >= 0 && score <= 1)) throw unusable('quality_score')
  return score
}

type Endpoint = Pick<QualityRules, 'url' | 'model' | 'headers' | 'timeoutMs'>

async function post(rules: Endpoint, body: object, { judged, host }: { judged: Judged; host: Host }): Promise<unknown> {
  const answer = await host.http.send(rules.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...rules.headers },
    body: JSON.stringify(rules.model ? { model: rules.model, ...body } : body),
    timeoutMs: rules.timeoutMs,
    signal: judged.signal,
  })
  if (answer.status !== 200) throw gatewayError('runner_error', `${new URL(rules.url).host} answered ${answer.status}`)
  return jsonFromText(answer.body.toString('utf8'))
}
