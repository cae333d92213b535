/** The fuses, by their names in `canary.md` §3.7. Each is a reason to act at once, whatever else is known. */
export type FuseId = 'F1' | 'F2' | 'F3' | 'F4' | 'F5' | 'F6' | 'F7' | 'F8' | 'F9' | 'F10' | 'F11' | 'F12'

/** A fuse that has blown, and what it asks for. */
export interface Blown {
  readonly fuse: FuseId
  /** F8, F10 and the first window of F7 hold; the others take the layer back. */
  readonly asks: 'rollback' | 'hold'
  /** What was found, with its numbers. */
  readonly reason: string
  /** Only a person may begin again. */
  readonly permanent?: boolean
}
