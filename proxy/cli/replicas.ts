import type { AdminClient } from './admin-client.ts'
import { plainText } from './output.ts'
import type { Io } from './verb.ts'

/** What one admin port said. */
export interface Told<T> {
  readonly admin: string
  readonly value: T
}

/** What one admin port failed with, in words. */
export interface Missed {
  readonly admin: string
  readonly why: string
}

/** What all that answered said, and which did not. */
export interface Telling<T> {
  readonly told: readonly Told<T>[]
  readonly missed: readonly Missed[]
  /** Some are missed. */
  readonly failed: boolean
}

/** Asks every admin port at once; what goes wrong with one is said on stderr and does not keep the others from answering. */
export async function askAll<T>(
  admins: readonly AdminClient[],
  ask: (admin: AdminClient) => Promise<T>,
  io: Io,
): Promise<Telling<T>> {
  const answers = await Promise.allSettled(admins.map(ask))
  const told: Told<T>[] = []
  const missed: Missed[] = []
  for (const [index, answer] of answers.entries()) {
    const admin = admins[index]?.url ?? ''
    if (answer.status === 'fulfilled') told.push({ admin, value: answer.value })
    else missed.push({ admin, why: answer.reason instanceof Error ? answer.reason.message : String(answer.reason) })
  }
  if (!io.signal.aborted) for (const { why } of missed) io.say(plainText(why))
  return { told, missed, failed: missed.length > 0 }
}
