import { readFileSync } from 'node:fs'
import type { ContextFacts, LayerReads } from '../../plugins/execution-context-facts.ts'
import type { Policy, PolicyStep } from '../../plugins/policy.ts'

/** A call that a runner is asked about through `decide`, as it travels, and what it must say. */
export interface LawCase {
  /** A fact. */
  readonly title: string
  readonly route: Policy['route']
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly step: PolicyStep['step']
  readonly body: object
  readonly facts: ContextFacts
  /** The value of `x-caller-credential`. */
  readonly credential?: string
  readonly reads?: LayerReads
  readonly expect: {
    readonly o: string
    readonly code?: string
    /** The essence of the verdict, and its digest, where the model is called as the file says. */
    readonly essence: unknown
    readonly e: string
  }
}

/** The published laws, by layer. */
export interface Laws {
  /** Stands in steps, bodies and essences for a model that the runner serves. */
  readonly model: string
  readonly layers: Readonly<Record<string, { readonly version: number; readonly cases: readonly LawCase[] }>>
}

/** Reads the laws as they are published. */
export function publishedLaws(): Laws {
  return JSON.parse(readFileSync(new URL('../../native-runner/abi/laws.json', import.meta.url), 'utf8')) as Laws
}

/** A case for a runner that serves a model; undefined where it needs one and there is none. */
export function caseForModel(asked: LawCase, placeholder: string, model: string | undefined): LawCase | undefined {
  const text = JSON.stringify(asked)
  const quoted = JSON.stringify(placeholder)
  if (!text.includes(quoted)) return asked
  return model === undefined ? undefined : (JSON.parse(text.replaceAll(quoted, () => JSON.stringify(model))) as LawCase)
}
