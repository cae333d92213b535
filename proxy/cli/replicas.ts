import type { AdminClient } from './admin-client.ts'
import type { Io } from './verb.ts'

/** What one admin port said. */
export interface Told<T> {
  readonly admin: string
  readonly value: T
}

/** What all that answered said, and whether some did not. */
export interface Telling<T> {
  readonly told: readonly Told<T>[]
  readonly failed: boolean
}

/** Asks every admin port at once; what goes wrong with one is said on stderr and does not keep the others from answering. */
export async function askAll<T>(
  admins: readonly AdminClient[],
  ask: (admin: AdminClient) => Promise<T>,
  io: Io,
): Promise<Telling<T>> {
  const answers = await Promise.allSettled(admins.map(ask))
  const told = answers.flatMap((answer, index) => {
    if (answer.status === 'fulfilled') return [{ admin: admins[index]?.url ?? '', value: answer.value }]
    if (!io.signal.aborted) io.say(answer.reason instanceof Error ? answer.reason.message : String(answer.reason))
    return []
  })
  return { told, failed: told.length < admins.length }
}
