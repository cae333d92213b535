import { createReadStream, createWriteStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { crc32, createInflateRaw } from 'node:zlib'
import { refusal } from '../refusal.ts'

/** One file in a zip archive. */
export interface ZipEntry {
  readonly name: string
  /** Bytes once unpacked. */
  readonly size: number
  readonly packedSize: number
  /** 0 stored, 8 deflated. */
  readonly method: number
  readonly crc: number
  /** Where its local header stands. */
  readonly offset: number
}

const broken = (file: string, why: string) =>
  refusal('model_unavailable', `${file} is not a zip archive we can read: ${why}`)

async function bytesAt(handle: FileHandle, at: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, at)
  return buffer.subarray(0, bytesRead)
}

function entriesFrom(directory: Buffer, count: number, file: string): ZipEntry[] {
  const entries: ZipEntry[] = []
  for (let at = 0; entries.length < count; ) {
    if (at + 46 > directory.length || directory.readUInt32LE(at) !== 0x02014b50)
      throw broken(file, 'its directory is damaged')
    const nameLength = directory.readUInt16LE(at + 28)
    const rest = directory.readUInt16LE(at + 30) + directory.readUInt16LE(at + 32)
    const [packedSize, size, offset] = [at + 20, at + 24, at + 42].map((from) => directory.readUInt32LE(from)) as [
      number,
      number,
      number,
    ]
    if (Math.max(packedSize, size, offset) === 0xffffffff) throw broken(file, 'it is in the zip64 format')
    const name = directory.toString('utf8', at + 46, at + 46 + nameLength)
    entries.push({
      name,
      size,
      packedSize,
      offset,
      method: directory.readUInt16LE(at + 10),
      crc: directory.readUInt32LE(at + 16),
    })
    at += 46 + nameLength + rest
  }
  return entries
}

/** The files in a zip archive (PKWARE APPNOTE 6.3, without zip64). Throws `model_unavailable` for anything else. */
export async function zipEntries(file: string): Promise<ZipEntry[]> {
  await using handle = await open(file)
  const { size } = await handle.stat()
  const tail = await bytesAt(handle, Math.max(0, size - 65_557), Math.min(size, 65_557))
  const end = tail.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]))
  if (end < 0 || end + 22 > tail.length) throw broken(file, 'it has no end record')
  const length = tail.readUInt32LE(end + 12)
  if (length > 16_777_216) throw broken(file, 'its directory is too large')
  return entriesFrom(await bytesAt(handle, tail.readUInt32LE(end + 16), length), tail.readUInt16LE(end + 10), file)
}

/** Unpacks one file of an archive. Throws `model_unavailable` when what comes out is not what went in. */
export async function unzipEntry(file: string, entry: ZipEntry, target: string): Promise<void> {
  if (entry.method !== 0 && entry.method !== 8) throw broken(file, `compression method ${entry.method}`)
  await using handle = await open(file)
  const local = await bytesAt(handle, entry.offset, 30)
  if (local.length < 30 || local.readUInt32LE(0) !== 0x04034b50)
    throw broken(file, `${entry.name} is not where it should be`)
  const start = entry.offset + 30 + local.readUInt16LE(26) + local.readUInt16LE(28)
  let [size, crc] = [0, 0]
  const check = new Transform({
    transform(part: Buffer, _encoding, done) {
      size += part.length
      crc = crc32(part, crc)
      done(size > entry.size ? broken(file, `${entry.name} is larger than it says`) : null, part)
    },
  })
  const packed = createReadStream(file, { start, end: start + entry.packedSize - 1 })
  const unpacking = entry.method === 8 ? [createInflateRaw()] : []
  await pipeline([packed, ...unpacking, check, createWriteStream(target)])
  if (size !== entry.size || crc !== entry.crc) throw broken(file, `${entry.name} is damaged`)
}
