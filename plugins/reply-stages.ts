import type { Chunk } from './chat.ts'
import type { Observer, Transform } from './reply.ts'

/** Something an answer passes on its way out. */
export type Stage = { readonly observer: Observer } | { readonly transform: Transform }

/** Chunks after one stage. */
export function pushStage(stage: Stage, chunks: readonly Chunk[]): readonly Chunk[] {
  if ('observer' in stage) {
    if (stage.observer.chunk) for (const chunk of chunks) stage.observer.chunk(chunk)
    return chunks
  }
  const out: Chunk[] = []
  for (const chunk of chunks) {
    const next = stage.transform.push(chunk)
    if (Array.isArray(next)) out.push(...next)
    else if (next !== undefined) out.push(next as Chunk)
  }
  return out
}
