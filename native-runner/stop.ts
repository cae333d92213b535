/** Watches growing text for stop strings, across whatever cuts it arrives in. */
export interface StopScanner {
  /** Text that may go out now; `stopped` once a stop string was met (the string itself never goes out). */
  push(text: string): { readonly text: string; readonly stopped: boolean }
  /** What was held back because it might have become a stop string. */
  flush(): string
}

function earliest(text: string, stops: readonly string[]): number {
  let first = -1
  for (const stop of stops) {
    const at = text.indexOf(stop)
    if (at >= 0 && (first < 0 || at < first)) first = at
  }
  return first
}

function heldFrom(text: string, stops: readonly string[]): number {
  let from = text.length
  for (const stop of stops) {
    for (let at = Math.max(0, text.length - stop.length + 1); at < from; at++)
      if (stop.startsWith(text.slice(at))) from = at
  }
  return from
}

/** A scanner for some stop strings, none of them empty. It holds back at most the longest one's length less one. */
export function createStopScanner(stops: readonly string[]): StopScanner {
  let held = ''
  return {
    push(text) {
      if (stops.length === 0) return { text, stopped: false }
      const whole = held + text
      const at = earliest(whole, stops)
      if (at >= 0) {
        held = ''
        return { text: whole.slice(0, at), stopped: true }
      }
      const from = heldFrom(whole, stops)
      held = whole.slice(from)
      return { text: whole.slice(0, from), stopped: false }
    },
    flush() {
      const rest = held
      held = ''
      return rest
    },
  }
}
