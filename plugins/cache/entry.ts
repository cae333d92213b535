import { promisify } from 'node:util'
import { deflateRaw, deflateRawSync, inflateRaw } from 'node:zlib'
import type { Target } from '../reply.ts'
import { createSchema } from '../schema.ts'

/** What is known of a stored answer beside the answer. */
export interface EntryMeta {
  /** SHA-256 of the key in full, compared on every read, since the index has only 64 bits. */
  readonly sha: string
  /** When it was stored and when its call began, in milliseconds since the epoch. */
  readonly madeAt: number
  readonly askedAt: number
  readonly ttlMs: number
  /** The tenant under the index's secret, the route, and the prompt version: what can be purged by. */
  readonly tenant: string
  readonly route: string
  readonly prompt: string
  readonly target?: Target
}

/** A stored answer: the whole completion as JSON bytes. */
export interface Entry {
  readonly meta: EntryMeta
  readonly json: Buffer
}

const metaSchema = createSchema<EntryMeta>({
  type: 'object',
  required: ['sha', 'madeAt', 'askedAt', 'ttlMs', 'tenant', 'route', 'prompt'],
  properties: {
    sha: { type: 'string' },
    madeAt: { type: 'number' },
    askedAt: { type: 'number' },
    ttlMs: { type: 'number' },
    tenant: { type: 'string' },
    route: { type: 'string' },
    prompt: { type: 'string' },
    target: {
      type: 'object',
      required: ['runner', 'model'],
      properties: { runner: { type: 'string' }, model: { type: 'string' } },
    },
  },
})

/** `FGC`, the format's version, the codec, then the length of the meta part in four bytes, the meta part, the answer. */
const magic = Buffer.from([0x46, 0x47, 0x43, 1])
const headBytes = magic.length + 5
const plain = 0
const deflated = 1
/** Answers above this size are compressed where `compress` says so, in bytes. */
const compressAbove = 1024

/** Answers up to this size are compressed at once, in bytes: some 30 µs, where handing one to another thread alone takes 100. */
const compressHere = 16_384

const fast = { level: 1 } as const
const deflateElsewhere = promisify(deflateRaw)
const deflate = (json: Buffer): Buffer | Promise<Buffer> =>
  json.length <= compressHere ? deflateRawSync(json, fast) : deflateElsewhere(json)
const inflate = promisify(inflateRaw) as (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>

/** An entry as the store keeps it. */
export async function bytesFromEntry({ meta, json }: Entry, compress: boolean): Promise<Buffer> {
  const packed = compress && json.length > compressAbove ? await deflate(json) : undefined
  const about = Buffer.from(JSON.stringify(meta))
  const head = Buffer.alloc(5)
  head[0] = packed ? deflated : plain
  head.writeUInt32BE(about.length, 1)
  return Buffer.concat([magic, head, about, packed ?? json])
}

/** An entry read back; undefined for whatever is not one, was written by another version, or outgrows `maxBytes` unpacked. */
export async function entryFromBytes(bytes: Buffer, maxBytes: number): Promise<Entry | undefined> {
  if (bytes.length < headBytes || !bytes.subarray(0, magic.length).equals(magic)) return undefined
  const codec = bytes[magic.length]
  const end = headBytes + bytes.readUInt32BE(magic.length + 1)
  const meta = end <= bytes.length ? metaFromBytes(bytes.subarray(headBytes, end)) : undefined
  if (!meta) return undefined
  const body = bytes.subarray(end)
  if (codec === plain) return { meta, json: body }
  if (codec !== deflated) return undefined
  const json = await inflate(body, { maxOutputLength: maxBytes }).catch(() => undefined)
  return json && { meta, json }
}

function metaFromBytes(bytes: Buffer): EntryMeta | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    return metaSchema.faults(value).length === 0 ? (value as EntryMeta) : undefined
  } catch {
    return undefined
  }
}
