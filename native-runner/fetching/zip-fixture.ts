import { crc32, deflateRawSync } from 'node:zlib'

/** A zip archive made in memory, for tests: names, bytes, and method 0 (stored) or 8 (deflated). */
export function createZip(files: readonly (readonly [name: string, bytes: Buffer, method: 0 | 8])[]): Buffer {
  const locals: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const [name, bytes, method] of files) {
    const packed = method === 8 ? deflateRawSync(bytes) : bytes
    const title = Buffer.from(name)
    const fields = Buffer.alloc(26)
    fields.writeUInt16LE(20, 0)
    fields.writeUInt16LE(method, 4)
    fields.writeUInt32LE(crc32(bytes), 10)
    fields.writeUInt32LE(packed.length, 14)
    fields.writeUInt32LE(bytes.length, 18)
    fields.writeUInt16LE(title.length, 22)
    locals.push(Buffer.from([0x50, 0x4b, 3, 4]), fields, title, packed)
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE(offset, 10)
    directory.push(Buffer.from([0x50, 0x4b, 1, 2, 20, 0]), fields, rest, title)
    offset += 30 + title.length + packed.length
  }
  const end = Buffer.alloc(18)
  end.writeUInt16LE(files.length, 4)
  end.writeUInt16LE(files.length, 6)
  end.writeUInt32LE(Buffer.concat(directory).length, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...locals, ...directory, Buffer.from([0x50, 0x4b, 5, 6]), end])
}
