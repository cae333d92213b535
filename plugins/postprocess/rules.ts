import type { Asked } from './asked.ts'
import type { PhraseSemantics } from './phrases.ts'
import type { PiiType } from './pii.ts'
import type { Action } from './scanner.ts'
import type { TagRules } from './tags.ts'

/** From which severity on a category ends an answer: never, from high, medium or low on, or at the least sign of it. */
export type Threshold = 'block_none' | 'block_high' | 'block_medium' | 'block_low' | 'block_all'

/** How grave a find of a safety category is. */
export type Severity = 'low' | 'medium' | 'high'

/** A pattern of the operator's own. */
export interface CustomPattern {
  readonly name: string
  /** RE2 syntax, without anchors. */
  readonly pattern: string
  /** The longest match, in UTF-16 code units; 1 to 1,024. */
  readonly maxMatch: number
}

/** Personal data in answers. */
export interface PiiRules {
  readonly mode: Action
  readonly types: readonly PiiType[]
  readonly custom: readonly CustomPattern[]
  /** Also in the arguments of tool calls, which then leave whole. */
  readonly toolCalls: boolean
}

/** Values of the request that must not come back. */
export interface EchoRules {
  readonly paths: readonly string[]
  readonly action: Action
  /** Shorter values, in UTF-16 code units, are not looked for. */
  readonly minLength: number
}

/** A rule of phrases by an operator's own name. */
export interface CustomRule {
  readonly id: string
  readonly trigger_phrases: readonly string[]
  readonly action: Action
}

/** What to do when an outside judge does not answer. */
export type OnFailure = 'pass' | 'refuse'

/** Who judges an answer by safety categories. */
export interface ModerationRules {
  /** A moderation endpoint as OpenAI shapes it, or a guard model on a runner. */
  readonly kind: 'endpoint' | 'guard-model'
  readonly url: string
  readonly runner: string
  readonly model: string
  readonly headers: Readonly<Record<string, string>>
  /** File with a token that goes along as `Authorization: Bearer`; null for none. */
  readonly tokenFile: string | null
  /** The judge's names of categories, such as `S6`, by ours. */
  readonly categories: Readonly<Record<string, string>>
  /** From which score on, 0 to 1, a category counts as this grave. */
  readonly levels: Readonly<Record<Severity, number>>
  readonly timeoutMs: number
  readonly onFailure: OnFailure
}

/** Who gives an answer a score from 0 to 1, and what happens to a low one. */
export interface QualityRules {
  readonly scorer: 'endpoint' | 'judge'
  readonly url: string
  readonly runner: string
  readonly model: string
  readonly headers: Readonly<Record<string, string>>
  /** File with a token that goes along as `Authorization: Bearer`; null for none. */
  readonly tokenFile: string | null
  /** What the judge is told. */
  readonly instructions: string
  /** Scores under it are a failure of the answer; 0 for none. */
  readonly min: number
  readonly timeoutMs: number
  readonly onFailure: OnFailure
}

/** Who is told about answers with a low score. Nothing waits for it. */
export interface ReviewRules {
  /** Scores under it are sent. */
  readonly below: number
  readonly webhook: string | null
  readonly headers: Readonly<Record<string, string>>
  /** File with a token that goes along as `Authorization: Bearer`; null for none. */
  readonly tokenFile: string | null
  readonly stream: string | null
  /** About how many entries the stream keeps. */
  readonly maxEntries: number
  /** Send the text of the answer too. */
  readonly includeText: boolean
  readonly timeoutMs: number
}

/** A text that every answer ends with. */
export interface SuffixRules {
  readonly text: string
  /** The member that it goes into when the answer is a JSON object. */
  readonly field: string | null
}

/** What leaves the building, for one route and tenant. Applied in the order of the members. */
export interface Rules {
  readonly reasoning: TagRules | null
  readonly json: { readonly schema: object | boolean | null; readonly responseFormat: 'enforce' | 'ignore' }
  readonly required_phrases: readonly string[]
  readonly forbidden_phrases: readonly string[]
  readonly forbiddenAction: Action
  /** Unicode code points; 0 for none. */
  readonly min_output_length: number
  readonly pii: PiiRules | null
  readonly echo_guard: EchoRules | readonly string[] | null
  readonly safety: readonly { readonly category: string; readonly threshold: Threshold }[]
  readonly safetyTerms: Readonly<Record<string, Readonly<Record<Severity, readonly string[]>>>>
  readonly moderation: ModerationRules | null
  readonly custom_safety_rules: readonly CustomRule[]
  readonly suffix: SuffixRules | string | null
  readonly review: ReviewRules | null
  readonly quality_score: QualityRules | null
  readonly phrases: { readonly semantics: PhraseSemantics; readonly nfkc: boolean }
  /** What stands for redacted text; `{label}` is the kind. */
  readonly redaction: string
  readonly onInvalid: 'refuse' | 'repair' | 'retry'
  readonly maxRetries: number
  /** The longest answer that is kept whole for a check, in bytes of text. */
  readonly maxBufferBytes: number
  /** What a caller's directives add for one call; never configured. */
  readonly asked?: Asked
}
