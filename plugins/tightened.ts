import type { Call } from './call.ts'
import { canonicalJson } from './canonical.ts'
import type { Directives } from './directives.ts'
import type { Acting, Layer } from './layer.ts'
import { pass } from './verdict.ts'

/** A layer that acts by its rule, or by a stricter one where a call's directives ask for it. */
export interface Tightened extends Acting {
  /**
   * Compiles the rule for these directives, if they ask anything of this layer; known ones cost a look-up. To be awaited before a call with
   * them begins. Throws `invalid_request` naming the directive, and what `act` throws.
   */
  ready(directives: Directives): Promise<void>
}

/** What a {@link Tightened} is made from. */
export interface TightenedParts<Step> {
  /** The half that acts by the rule as it is. Closed with the whole. */
  readonly base: Acting
  readonly step: Step
  readonly tighten: NonNullable<Layer<string, unknown, Step>['tighten']>
  /** Makes the half that acts by a stricter rule; throws where it cannot be held to. */
  readonly act: (step: Step) => Acting | Promise<Acting>
  /** How many stricter rules are kept compiled; default 128. The one not used for longest goes, once no call uses it. */
  readonly maxEntries?: number
}

/**
 * Makes an {@link Acting} that a call's fact `directives` chooses the rule of. What directives ask for is compiled into a cache of its own,
 * by their content: it never becomes part of a policy. Used by whichever side the layer sits on.
 */
export function createTightened<Step>({ base, step, tighten, act, maxEntries = 128 }: TightenedParts<Step>): Tightened {
  const rules = createRules(maxEntries)
  const compile = async (directives: Directives): Promise<Acting | undefined> => {
    const stricter = tighten(step, directives)
    return stricter === step ? undefined : act(stricter)
  }
  const ready = async (directives: Directives): Promise<void> => {
    await rules.get(directives, compile)
  }
  const of = (call: Call): Acting => rules.known(call.facts.directives)?.acting ?? base
  /** Not ready: somebody did not wait, or the rule went in the meantime. */
  const late = ({ facts: { directives } }: Call): Promise<void> | undefined =>
    directives && !rules.known(directives) ? ready(directives) : undefined
  return {
    ready,
    decide(call, mode, reads) {
      const decided = () => {
        rules.enter(call.facts.directives)
        return of(call).decide?.(call, mode, reads) ?? pass()
      }
      return late(call)?.then(decided) ?? decided()
    },
    settle: (call, reply, turn) => of(call).settle?.(call, reply, turn) ?? reply,
    reads: (call) => of(call).reads?.(call),
    notes: (call) => of(call).notes?.(call),
    ruleFor(call) {
      const acting = of(call)
      return acting.ruleFor ? acting.ruleFor(call) : null
    },
    buffers: (call) => of(call).buffers?.(call) ?? false,
    release(call) {
      of(call).release?.(call)
      rules.leave(call.facts.directives)
    },
    async close() {
      await Promise.all([base.close?.(), rules.close()])
    },
  }
}

/** A stricter rule, compiled; without `acting` the directives ask nothing of this layer. */
interface Rule {
  readonly acting: Acting | undefined
  users: number
  gone: boolean
  closed: boolean
}

interface Rules {
  /** The rule that was made ready for these directives; undefined when there is none, or it went. */
  known(directives: Directives | undefined): Rule | undefined
  get(directives: Directives, compile: (directives: Directives) => Promise<Acting | undefined>): Promise<void>
  /** A call begins under them, or has ended. */
  enter(directives: Directives | undefined): void
  leave(directives: Directives | undefined): void
  close(): Promise<void>
}

function createRules(maxEntries: number): Rules {
  const byText = new Map<string, Promise<Rule>>()
  const byDirectives = new WeakMap<Directives, Rule>()
  const known = (directives: Directives | undefined): Rule | undefined => {
    const rule = directives && byDirectives.get(directives)
    return rule?.closed ? undefined : rule
  }
  const keep = (text: string, made: Promise<Rule>): void => {
    byText.delete(text)
    byText.set(text, made)
    if (byText.size <= maxEntries) return
    const [oldest] = byText
    if (!oldest) return
    byText.delete(oldest[0])
    void oldest[1].then(letGo, () => undefined)
  }
  return {
    known,
    async get(directives, compile) {
      if (known(directives)) return
      const text = canonicalJson(directives)
      const made = byText.get(text) ?? compile(directives).then(ruleFrom)
      keep(text, made)
      try {
        byDirectives.set(directives, await made)
      } catch (fault) {
        if (byText.get(text) === made) byText.delete(text)
        throw fault
      }
    },
    enter(directives) {
      const rule = known(directives)
      if (rule) rule.users += 1
    },
    leave(directives) {
      const rule = known(directives)
      if (!rule) return
      rule.users -= 1
      if (rule.gone) letGo(rule)
    },
    async close() {
      const all = await Promise.allSettled(byText.values())
      byText.clear()
      await Promise.all(all.map((each) => (each.status === 'fulfilled' ? closeRule(each.value) : undefined)))
    },
  }
}

function ruleFrom(acting: Acting | undefined): Rule {
  return { acting, users: 0, gone: false, closed: false }
}

/** Nobody new will find it: closes it once no call uses it. */
function letGo(rule: Rule): void {
  rule.gone = true
  if (rule.users === 0) closeRule(rule).catch(() => undefined)
}

async function closeRule(rule: Rule): Promise<void> {
  if (rule.closed) return
  rule.closed = true
  await rule.acting?.close?.()
}
