import { createTestHost, type TestHost } from '../../test/support/host.ts'
import { type Call, createCall } from '../call.ts'
import type { Chunk, ChunkChoice, Route } from '../chat.ts'
import { type Completion, completionFromChunks } from '../chunks.ts'
import type { FoldSource, Host, Seat } from '../host.ts'
import type { Acting, Mode } from '../layer.ts'
import { type Reply, replyFromBytes, replyFromChunks, replyFromCompletion } from '../reply.ts'
import { through } from '../stack.ts'
import { configSchema } from './config.ts'
import { foldPostprocess } from './fold.ts'
import { open } from './gateway.ts'
import type { PostprocessStep } from './step.ts'

/** A call for tests. */
export function callOf(body: object, more: { route?: Route; tenant?: string } = {}): Call {
  const { route = 'chat', tenant = 't1' } = more
  const principal = { id: 'u', tenant, tier: '', scopes: [], claims: {}, method: 'jwt' as const }
  const request = route === 'completions' ? { prompt: 'Hi' } : { messages: [{ role: 'user', content: 'Hi' }] }
  return createCall({
    id: 'c1',
    route,
    now: 1_700_000_000_000,
    body: Buffer.from(JSON.stringify({ model: 'm', ...request, ...body })),
    headers: {},
    facts: { client_ip: '127.0.0.1', principal },
    signal: new AbortController().signal,
  })
}

const head = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm' }

/** A chunk of one choice. */
export function chunkOf(choice: Omit<Partial<ChunkChoice>, 'index'> & { index?: number }): Chunk {
  return { ...head, choices: [{ index: 0, finish_reason: null, ...choice }] }
}

/** A stream that says these pieces and then finishes. */
export function streamOf(pieces: readonly string[], finish = 'stop'): Chunk[] {
  return [
    chunkOf({ delta: { role: 'assistant', content: '' } }),
    ...pieces.map((content) => chunkOf({ delta: { content } })),
    chunkOf({ delta: {}, finish_reason: finish }),
    { ...head, choices: [], usage: { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 } },
  ]
}

/** A whole answer that says this text. */
export function completionOf(content: string | null, more: object = {}): Completion {
  const message = { role: 'assistant', content, ...more }
  const usage = { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 }
  return { ...head, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }], usage }
}

/** What the runner answers: chunks of a stream, a whole answer, or a status with a body nobody looks into. */
export type Said = readonly Chunk[] | Completion | number

function replyOf(said: Said, streamed: boolean): Reply {
  const init = { status: 200, streamed, includeUsage: true, source: 'runner' as const }
  if (typeof said === 'number') return replyFromBytes({ ...init, status: said }, 'json', opaque())
  return Array.isArray(said) ? replyFromChunks(init, said as Chunk[]) : replyFromCompletion(init, said as Completion)
}

async function* opaque(): AsyncGenerator<Buffer> {
  yield Buffer.from('{"error":{"message":"no"}}')
}

/** What one call is run with: answers are given in turn, and `asked` gets the calls that reached the runner. */
export interface Job {
  readonly call: Call
  readonly says: readonly Said[]
  readonly asked?: Call[]
  readonly mode?: Mode
}

/** Runs one call through the layer alone, opened on a configuration. */
export function settled(job: Job & { config: object; host: Host }): Promise<Reply> {
  return settledBy(open(configSchema.parse(job.config), job.host), job)
}

/** Runs one call through a half of the layer alone. */
export function settledBy(acting: Acting, { call, says, asked = [], mode = 'enforce' }: Job): Promise<Reply> {
  const inside = async (inner: Call): Promise<Reply> => {
    asked.push(inner)
    return replyOf(says[asked.length - 1] as Said, inner.request.stream === true)
  }
  return through([{ name: 'postprocess', acting, mode }], call, { inside, witness: { heard: () => {} } })
}

/** The runner's doors of a test; `allowed` are the hosts it may reach, `secrets` its secret files. */
export function seatOf(
  doors: Parameters<typeof createTestHost>[0] = {},
  { allowed = [], secrets = [] }: { allowed?: readonly string[]; secrets?: readonly string[] } = {},
): Seat & TestHost {
  return Object.assign(createTestHost({ side: 'runner', declared: new Set(), ...doors }), {
    allows: (url: string) => allowed.includes(new URL(url).host),
    has: (name: string) => secrets.includes(name),
  })
}

/** The step of a configuration, as it arrives at a runner. */
export function stepOf(config: object, declared: readonly string[] = []): PostprocessStep {
  const source: FoldSource = {
    declared: new Set(declared),
    conversationHeader: 'x-conversation-id',
    file: createTestHost().file,
    secret: (path) => path.slice(path.lastIndexOf('/') + 1),
  }
  return JSON.parse(JSON.stringify(foldPostprocess(configSchema.parse(config), source))) as PostprocessStep
}

/** All chunks of a reply. */
export async function chunksOf(reply: Reply): Promise<Chunk[]> {
  const chunks: Chunk[] = []
  for await (const batch of reply.batches()) chunks.push(...batch.chunks)
  return chunks
}

/** What the first choice of a reply says, chunk by chunk. */
export async function piecesOf(reply: Reply): Promise<string[]> {
  const chunks = await chunksOf(reply)
  return chunks.flatMap(({ choices }) => choices?.[0]?.delta?.content ?? choices?.[0]?.text ?? [])
}

/** A reply as the whole answer it adds up to. */
export async function wholeOf(reply: Reply): Promise<Completion> {
  return completionFromChunks(await chunksOf(reply))
}
