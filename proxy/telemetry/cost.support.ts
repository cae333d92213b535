/** What one run costs in microseconds: the quickest of ten rounds of `times`, since others may share the machine; printed. */
export function costOf(name: string, times: number, run: (each: number) => void): number {
  let quickest = Number.POSITIVE_INFINITY
  for (let round = 0; round < 10; round++) {
    const began = performance.now()
    for (let each = 0; each < times; each++) run(each)
    quickest = Math.min(quickest, ((performance.now() - began) * 1000) / times)
  }
  console.log(`${name}: ${quickest.toFixed(2)} µs a call`)
  return quickest
}
