import type { ChatRequest } from '../chat.ts'
import type { StepsConfig } from './config-adaptations.ts'
import { lastUserText, withInstructions } from './messages.ts'

/** How an answer in steps is to be written. */
export interface StepsPlan {
  readonly language: 'en' | 'zh'
  /** How many steps were asked for, when a number was named. */
  readonly count: number | undefined
  readonly numbering: StepsConfig['numbering']
}

/** Longest request that is searched for step words, in characters: what asks for steps stands at its beginning or its end. */
const lookAtChars = 4096

const english = [
  /\bstep[- ]by[- ]step\b/i,
  /\bnumbered (?:list|steps|instructions)\b/i,
  /\b(?:in|into|with) (?:\d{1,2}|two|three|four|five|six|seven|eight|nine|ten) (?:\w+ )?steps\b/i,
  /\b(?:list|give|show|describe|explain|outline|write|what are)\b[^.!?\n]{0,60}\bsteps\b/i,
]
const chinese = [
  /步骤|分步|逐步|一步一步|一步步|按步/u,
  /第[一二三四五六七八九十\d]{1,3}步/u,
  /[分用][一二两三四五六七八九十\d]{1,3}个?步/u,
]
const englishNumbers = ['two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']
const chineseNumbers = '一二三四五六七八九十'

/** Whether a request asks for numbered steps and how; undefined when it does not, or when it has asked for another form itself. */
export function stepsAsked(request: ChatRequest, config: StepsConfig): StepsPlan | undefined {
  if (!config.enabled || request.response_format || request['logprobs'] || (request.tools?.length ?? 0) > 0)
    return undefined
  const whole = lastUserText(request.messages ?? [])
  const text = whole.length <= 2 * lookAtChars ? whole : `${whole.slice(0, lookAtChars)}\n${whole.slice(-lookAtChars)}`
  const language = chinese.some((each) => each.test(text)) ? 'zh' : 'en'
  const lower = text.toLowerCase()
  const asked = language === 'zh' || english.some((each) => each.test(text))
  if (!asked && !config.words.some((word) => lower.includes(word.toLowerCase()))) return undefined
  return { language, count: countAsked(text), numbering: config.numbering }
}

function countAsked(text: string): number | undefined {
  const [, number, word] = /\b(?:in|into|with|list|give|the) (?:(\d{1,2})|([a-z]+)) (?:\w+ )?steps\b/i.exec(text) ?? []
  const [, digits, sign] =
    /[分用出]?(?:(\d{1,2})|([一二两三四五六七八九十]))个?步/u.exec(text.replace(/第.{1,3}步/gu, '')) ?? []
  const written = word === undefined ? -1 : englishNumbers.indexOf(word.toLowerCase())
  const count = number ?? digits ?? (written >= 0 ? written + 2 : countFromSign(sign))
  return Number(count) >= 2 && Number(count) <= 50 ? Number(count) : undefined
}

function countFromSign(sign: string | undefined): number {
  if (sign === undefined) return 0
  return sign === '两' ? 2 : chineseNumbers.indexOf(sign) + 1
}

const askFor = {
  en: 'Answer with a JSON object: "intro" (what comes before the steps, or empty), "steps" (a list with one text for each step, without its number), "outro" (what comes after, or empty).',
  zh: '请用一个 JSON 对象回答："intro"（步骤之前的话，可为空）、"steps"（每一步一个字符串，不带编号）、"outro"（步骤之后的话，可为空）。',
}

/** The request that is answered through a schema instead. */
export function requestForSteps(request: ChatRequest, { language, count }: StepsPlan): ChatRequest {
  const bounds = count === undefined ? { minItems: 1 } : { minItems: count, maxItems: count }
  const schema = {
    type: 'object',
    properties: {
      intro: { type: 'string' },
      steps: { type: 'array', items: { type: 'string' }, ...bounds },
      outro: { type: 'string' },
    },
    required: ['intro', 'steps', 'outro'],
    additionalProperties: false,
  }
  const placing = { position: 'after', role: 'system' } as const
  return {
    ...request,
    messages: withInstructions(request.messages ?? [], askFor[language], placing),
    response_format: { type: 'json_schema', json_schema: { name: 'numbered_steps', strict: true, schema } },
  }
}

/** The object that the schema asked for, as numbered text; undefined when a text is no such object. */
export function textFromSteps(json: string, plan: StepsPlan): string | undefined {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch {
    return undefined
  }
  const { intro, steps, outro } = (value ?? {}) as Record<string, unknown>
  if (!Array.isArray(steps) || steps.length === 0 || !steps.every((each) => typeof each === 'string')) return undefined
  const lines = steps.map((each: string, index) => numberOf(index + 1, plan) + withoutNumber(each))
  return [intro, lines.join('\n'), outro].filter((each) => typeof each === 'string' && each.trim() !== '').join('\n\n')
}

function numberOf(n: number, { numbering, language }: StepsPlan): string {
  if (numbering === 'list') return `${n}. `
  return language === 'zh' ? `第${n}步：` : `Step ${n}: `
}

function withoutNumber(step: string): string {
  return step
    .trim()
    .replace(/^(?:(?:step\s*)?\d{1,2}\s*[.):：、](?!\d)|第[一二三四五六七八九十\d]{1,3}步[:：,，]?)\s*/iu, '')
}
