/** One thing that `doctor` looked at. */
export interface Finding {
  /** What was looked at, such as `runner gpu-a`. */
  readonly check: string
  readonly result: 'ok' | 'warn' | 'failed'
  /** What was found. */
  readonly note: string
  /** What to do about it. */
  readonly next?: string
}

/** It is as it should be. */
export function fine(check: string, note: string): Finding {
  return { check, result: 'ok', note }
}

/** It works, but somebody should know. */
export function doubtful(check: string, note: string, next: string): Finding {
  return { check, result: 'warn', note, next }
}

/** It does not work. */
export function broken(check: string, note: string, next: string): Finding {
  return { check, result: 'failed', note, next }
}
