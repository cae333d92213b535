/** One span as a collector gets it. Ids are hex; times are nanoseconds since the epoch. */
export interface OtlpSpan {
  readonly traceId: string
  readonly spanId: string
  /** Empty for a root. */
  readonly parentSpanId: string
  readonly traceState: string
  readonly name: string
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number
  readonly startNs: bigint
  readonly endNs: bigint
  readonly attributes: Readonly<Record<string, unknown>>
  /** 0 unset, 1 ok, 2 error. */
  readonly status: number
  /** Spans of other traces. */
  readonly links: readonly Pick<OtlpSpan, 'traceId' | 'spanId' | 'attributes'>[]
  readonly scope: string
  readonly schemaUrl: string
  readonly resource: Readonly<Record<string, unknown>>
}

type Field = bigint | Buffer

/** The spans of one OTLP `ExportTraceServiceRequest` in protobuf (opentelemetry-proto 1.x), in order. */
export function spansFromOtlp(body: Buffer): OtlpSpan[] {
  return all(fields(body), 1).flatMap((resourceSpans) => {
    const ofResource = fields(resourceSpans)
    const resource = attributes(all(fields(bytes(ofResource, 1)), 1))
    return all(ofResource, 2).flatMap((scopeSpans) => {
      const ofScope = fields(scopeSpans)
      const scope = text(fields(bytes(ofScope, 1)), 1)
      const schemaUrl = text(ofScope, 3)
      return all(ofScope, 2).map((span) => ({ ...spanFrom(fields(span)), scope, schemaUrl, resource }))
    })
  })
}

function spanFrom(span: Map<number, Field[]>): Omit<OtlpSpan, 'scope' | 'schemaUrl' | 'resource'> {
  const status = fields(bytes(span, 15))
  return {
    traceId: bytes(span, 1).toString('hex'),
    spanId: bytes(span, 2).toString('hex'),
    traceState: text(span, 3),
    parentSpanId: bytes(span, 4).toString('hex'),
    name: text(span, 5),
    kind: Number(number(span, 6)),
    startNs: number(span, 7),
    endNs: number(span, 8),
    attributes: attributes(all(span, 9)),
    status: Number(number(status, 3)),
    links: all(span, 13).map((link) => {
      const of = fields(link)
      const [traceId, spanId] = [bytes(of, 1).toString('hex'), bytes(of, 2).toString('hex')]
      return { traceId, spanId, attributes: attributes(all(of, 4)) }
    }),
  }
}

function attributes(pairs: Buffer[]): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const keyValue = fields(pair)
      return [text(keyValue, 1), value(fields(bytes(keyValue, 2)))]
    }),
  )
}

function value(any: Map<number, Field[]>): unknown {
  if (any.has(1)) return text(any, 1)
  if (any.has(2)) return number(any, 2) === 1n
  if (any.has(3)) return Number(BigInt.asIntN(64, number(any, 3)))
  if (any.has(4)) {
    const buffer = Buffer.alloc(8)
    buffer.writeBigUInt64LE(number(any, 4))
    return buffer.readDoubleLE()
  }
  if (any.has(5)) return all(fields(bytes(any, 5)), 1).map((each) => value(fields(each)))
  return undefined
}

const all = (from: Map<number, Field[]>, field: number): Buffer[] => (from.get(field) ?? []) as Buffer[]
const bytes = (from: Map<number, Field[]>, field: number): Buffer => all(from, field)[0] ?? Buffer.alloc(0)
const text = (from: Map<number, Field[]>, field: number): string => bytes(from, field).toString()
const number = (from: Map<number, Field[]>, field: number): bigint => (from.get(field)?.[0] as bigint | undefined) ?? 0n

/** A protobuf message's fields by number. */
function fields(message: Buffer): Map<number, Field[]> {
  const found = new Map<number, Field[]>()
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = message[at++]!
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
  const field = (wire: number): Field => {
    if (wire === 0) return varint()
    const length = wire === 1 ? 8 : wire === 5 ? 4 : Number(varint())
    at += length
    if (wire === 1) return message.readBigUInt64LE(at - 8)
    return wire === 5 ? BigInt(message.readUInt32LE(at - 4)) : message.subarray(at - length, at)
  }
  while (at < message.length) {
    const tag = Number(varint())
    const value = field(tag & 7)
    found.set(tag >> 3, [...(found.get(tag >> 3) ?? []), value])
  }
  return found
}
