import type { NoticeKind } from '../../../config/outside.ts'

/** Something that people should be told of. None of it comes from a caller. */
export interface Notice {
  readonly kind: NoticeKind
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Name of the layer; `all` for every layer at once. */
  readonly layer: string
  /** Stages in words, such as `canary 10 %`. */
  readonly from: string
  readonly to: string
  /** Who asked: a person's token, `controller`, `configuration`. */
  readonly actor: string
  readonly reason: string
  /** The figures behind it in one line; empty where a person asked. */
  readonly evidence: string
}

/** How much it matters, in PagerDuty's words. */
export type Severity = 'info' | 'warning' | 'critical'

/** What a notice says, in plain words. */
export interface SaidNotice {
  readonly severity: Severity
  /** What happened, in one line. */
  readonly title: string
  /** Layer, from, to, who and why. */
  readonly text: string
  /** What to do now. */
  readonly todo: string
}

/** How bad each kind is: a rollback worked, so nobody is woken for it. */
export const severities: Readonly<Record<NoticeKind, Severity>> = {
  moved: 'info',
  held: 'warning',
  'witness-disagrees': 'warning',
  'rolled-back': 'warning',
  'rollback-failed': 'critical',
  panic: 'critical',
}

const titles: Readonly<Record<NoticeKind, (notice: Notice) => string>> = {
  moved: ({ layer, to }) => `${layer} is ${to}`,
  held: ({ layer, to }) => `${layer} is on hold at ${to}`,
  'witness-disagrees': ({ layer }) => `${layer}: the trace store does not agree with what was counted here`,
  'rolled-back': ({ layer }) => `${layer} was rolled back`,
  'rollback-failed': ({ layer }) => `${layer}: a rollback is not confirmed everywhere`,
  panic: () => 'panic: every layer is back in the gateway',
}

const todos: Readonly<Record<NoticeKind, (layer: string) => string>> = {
  moved: () => 'Nothing is to be done.',
  held: (layer) => `It stays where it is. Read "foldgate explain ${layer}", then resume it or roll it back.`,
  'witness-disagrees': (layer) =>
    `Do not promote it. Compare "foldgate explain ${layer}" with the traces of this rollout.`,
  'rolled-back': (layer) =>
    `The gateway does this work again and calls are answered. Read "foldgate explain ${layer}" before it moves again.`,
  'rollback-failed': () =>
    'Run "foldgate rollback --all" and watch for "confirmed n/n"; if the admin port does not answer, create the panic file or send SIGUSR2.',
  panic: () => 'Layers stay in the gateway until the panic file is gone and somebody moves them.',
}

/** A notice in words. */
export function sayNotice(notice: Notice): SaidNotice {
  const { kind, layer, from, to, actor, reason } = notice
  const path = from === to ? `It is ${to}.` : `${from} → ${to}.`
  return {
    severity: severities[kind],
    title: titles[kind](notice),
    text: `${layer}: ${path} By ${actor}: ${reason}`,
    todo: todos[kind](layer),
  }
}
