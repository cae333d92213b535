import { drainMs, freezeMs } from '../state/drain.ts'
import type { Report } from './reports.ts'

/** When reports were heard, by the clock here: those of other processes may be minutes off, and nobody is blind for that. */
export interface Hearing {
  /** The reports with when each was first heard. Of a process that has gone for good only what it had counted is left. */
  heard(reports: readonly Report[]): readonly Report[]
  /** The replicas of these reports that may still serve a canary. */
  serving(reports: readonly Report[]): readonly string[]
}

/** A replica that cannot be heard has let go of its shares after so long, in milliseconds. */
const goneMs = freezeMs + drainMs
const mostProcesses = 256

/** Makes a {@link Hearing}; `now` is in milliseconds since the epoch. */
export function createHearing(now: () => number): Hearing {
  const last = new Map<string, { readonly seq: number; readonly at: number }>()
  return {
    heard: (reports) =>
      reports.map((report) => {
        const { replica, boot, seq } = report.flush
        const key = `${replica}\n${boot}`
        const known = last.get(key)
        const found = known && known.seq >= seq ? known : { seq, at: now() }
        last.delete(key)
        last.set(key, found)
        const [oldest] = last.keys()
        if (last.size > mostProcesses && oldest !== undefined) last.delete(oldest)
        return { ...report, flush: { ...report.flush, at: found.at } }
      }),
    serving: (reports) => [
      ...new Set(reports.flatMap(({ flush }) => (now() - flush.at <= goneMs ? [flush.replica] : []))),
    ],
  }
}
