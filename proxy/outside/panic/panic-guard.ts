import type { Log } from '../../../plugins/host.ts'
import type { StageChange, Stages } from '../../folding/stages.ts'
import { isOut } from '../../folding/state/document.ts'
import { type PanicFileWatch, watchPanicFile } from './panic-file.ts'

/** Who is said to have brought layers back because of the file. */
export const panicActor = 'panic-file'

const holdWords = 'panic file: '

/** What a guard works with. */
export interface PanicGuardParts {
  readonly stages: Stages
  readonly log: Log
  /** The file has appeared: people should know. */
  appeared(reason: string): void
}

/** Keeps every layer in the gateway while a file exists. */
export interface PanicGuard {
  /** Why no layer leaves the gateway now, in words; undefined: nothing keeps it. */
  readonly why: string | undefined
  /** Watches another file, or none. Resolves after the first look, with every layer back if it is there. */
  watch(path: string | null): Promise<void>
  /** A layer has moved, wherever that was asked for: if it went out while the file is there, it is brought back. */
  moved(change: StageChange): void
  close(): void
}

/** Makes a {@link PanicGuard} that watches nothing yet. */
export function createPanicGuard(parts: PanicGuardParts): PanicGuard {
  const { stages, log } = parts
  let watch: PanicFileWatch | undefined
  let why: string | undefined
  let back: Promise<void> = Promise.resolve()
  const letGo = async (): Promise<void> => {
    if (stages.state.known.hold.startsWith(holdWords))
      await stages.holdAll('', { actor: panicActor, reason: 'the panic file is gone' })
  }
  const home = async (reason: string): Promise<void> => {
    const by = { actor: panicActor, reason }
    await stages.rollbackAll(by)
    if (stages.state.known.hold === '') await stages.holdAll(holdWords + reason, by)
  }
  const queue = (action: () => Promise<void>): void => {
    back = back.then(action).catch((reason: unknown) => {
      log.error({ reason: (reason as Error).message }, 'what the panic file asks for could not be done everywhere')
    })
  }
  const gone = (): void => {
    if (why !== undefined) log.warn({}, 'the panic file is gone; layers stay in the gateway until somebody moves them')
    why = undefined
    queue(letGo)
  }
  return {
    get why() {
      return why
    },
    async watch(path) {
      watch?.close()
      if (path === null) return why === undefined ? undefined : gone()
      const next = watchPanicFile({
        path,
        appeared(reason) {
          log.error({ path, reason }, 'panic file: every layer comes back to the gateway')
          why = `the panic file is there: ${reason}`
          parts.appeared(reason)
          queue(() => home(reason))
        },
        gone,
        blind: (words) => log.warn({ path, words }, 'the panic file cannot be looked for'),
      })
      watch = next
      await next.looked
      // A hold of a run before this one, or of a file that was elsewhere.
      if (!next.there) gone()
      await back
    },
    moved({ to }) {
      if (why !== undefined && isOut(to)) queue(() => home(why ?? ''))
    },
    close: () => watch?.close(),
  }
}
