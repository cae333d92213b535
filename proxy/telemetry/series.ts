/** A label and the closed list of its values; anything else counts as `other`, so no caller can add a series. */
export interface Label<V> {
  readonly name: string
  readonly values: readonly string[]
  /** The place of a value in `values`; the last place, `other`, when it is not listed. */
  at(value: V): number
}

/** One exported number. `part` is what a histogram appends to its name. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
  readonly part?: '_bucket' | '_sum' | '_count'
  /** Of a bucket: one observation in it, with the trace that it was made in. OpenMetrics only. */
  readonly exemplar?: Exemplar
}

/** One observation of a sampled call, in the form that prom-client writes. */
export interface Exemplar {
  readonly labelSet: { readonly trace_id: string }
  readonly value: number
  /** Seconds since the epoch. */
  readonly timestamp: number
}

/** A label whose values are listed. */
export function listed<V extends string>(name: string, values: readonly V[]): Label<V> {
  const places = new Map<string, number>(values.map((value, place) => [value, place]))
  const other = values.length
  return { name, values: [...values, 'other'], at: (value) => places.get(value) ?? other }
}

/** A label whose values are the HTTP statuses 100 to 599. */
export function statusCodes(name: string): Label<number> {
  const values = Array.from({ length: 500 }, (_, place) => String(place + 100))
  return {
    name,
    values: [...values, 'other'],
    at: (code) => (code >= 100 && code <= 599 ? Math.floor(code) - 100 : 500),
  }
}

/** The number of label sets, each of which is one slot. */
export function slotsOf(labels: readonly Label<never>[]): number {
  return labels.reduce((slots, label) => slots * label.values.length, 1)
}

/** The slots of all combinations of listed values: those that a counter is to show before anything has happened. */
export function listedSlots(labels: readonly Label<never>[]): number[] {
  return Array.from({ length: slotsOf(labels) }, (_, slot) => slot).filter(
    (slot) => !Object.values(labelsOfSlot(labels, slot)).includes('other'),
  )
}

function labelsOfSlot(labels: readonly Label<never>[], slot: number): Record<string, string> {
  const found: [string, string][] = []
  let rest = slot
  for (const { name, values } of labels.toReversed()) {
    found.unshift([name, values[rest % values.length] as string])
    rest = Math.floor(rest / values.length)
  }
  return Object.fromEntries(found)
}

/** Counters of one metric: a plain number a label set. */
export interface Counters {
  /** `slot` is the places of the label values, mixed radix, first label first. */
  add(slot: number, by: number): void
  /** Those that were touched, and those of `zeros`. */
  samples(): Sample[]
}

/** Counters for every combination of the labels. `zeros` names the slots that are exported before they count anything. */
export function createCounters(labels: readonly Label<never>[], zeros: Iterable<number> = []): Counters {
  const counts = new Float64Array(slotsOf(labels))
  const shown = new Set(zeros)
  return {
    add(slot, by) {
      if (by > 0) counts[slot] = (counts[slot] as number) + by
    },
    samples() {
      const samples: Sample[] = []
      for (const [slot, value] of counts.entries()) {
        if (value > 0 || shown.has(slot)) samples.push({ labels: labelsOfSlot(labels, slot), value })
      }
      return samples
    },
  }
}

/** Histograms of one metric: a row of plain numbers a label set. */
export interface Histograms {
  /** `traceId` is that of a trace somebody can look up: the last one of each bucket is its exemplar. */
  observe(slot: number, value: number, traceId?: string): void
  samples(): Sample[]
}

/**
 * Histograms for every combination of the labels; a row is made when its label set is first seen. `zeros` names the slots that are exported
 * before anything was observed.
 */
export function createHistograms(
  labels: readonly Label<never>[],
  buckets: readonly number[],
  zeros: Iterable<number> = [],
): Histograms {
  const bounds = Float64Array.from(buckets)
  const rows: (Float64Array | undefined)[] = Array.from({ length: slotsOf(labels) }, () => undefined)
  for (const slot of zeros) rows[slot] = new Float64Array(bounds.length + 2)
  const exemplars = new Map<number, (Exemplar | undefined)[]>()
  const keep = (slot: number, place: number, exemplar: Exemplar): void => {
    const kept = exemplars.get(slot) ?? []
    kept[place] = exemplar
    exemplars.set(slot, kept)
  }
  return {
    observe(slot, value, traceId) {
      // One NaN would spoil the sum for good.
      if (!(value >= 0)) return
      let row = rows[slot]
      if (row === undefined) {
        row = new Float64Array(bounds.length + 2)
        rows[slot] = row
      }
      let place = 0
      while (place < bounds.length && value > (bounds[place] as number)) place++
      row[place] = (row[place] as number) + 1
      row[bounds.length + 1] = (row[bounds.length + 1] as number) + value
      if (traceId !== undefined)
        keep(slot, place, { labelSet: { trace_id: traceId }, value, timestamp: Date.now() / 1000 })
    },
    samples: () =>
      rows.flatMap((row, slot) => {
        if (row === undefined) return []
        return samplesOfRow(labelsOfSlot(labels, slot), buckets, { row, exemplars: exemplars.get(slot) ?? none })
      }),
  }
}

const none: readonly undefined[] = []

interface Row {
  readonly row: Float64Array
  readonly exemplars: readonly (Exemplar | undefined)[]
}

function samplesOfRow(
  labels: Readonly<Record<string, string>>,
  buckets: readonly number[],
  { row, exemplars }: Row,
): Sample[] {
  let count = 0
  const samples = [...buckets.map(String), '+Inf'].map((le, place): Sample => {
    count += row[place] as number
    const exemplar = exemplars[place]
    return { part: '_bucket', labels: { ...labels, le }, value: count, ...(exemplar ? { exemplar } : {}) }
  })
  return [
    ...samples,
    { part: '_sum', labels, value: row[buckets.length + 1] as number },
    { part: '_count', labels, value: count },
  ]
}
