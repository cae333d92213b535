import { parentPort, workerData } from 'node:worker_threads'
import { instantNow } from './bodies.ts'

/**
 * Says when each call is due. It sleeps in a thread of its own, to some fifty microseconds, where a timer would be up to a millisecond late
 * and a loop that looks at the clock would take a core.
 */
const instants = workerData as Float64Array
const nobody = new Int32Array(new SharedArrayBuffer(4))
for (const [index, due] of instants.entries()) {
  const wait = due - instantNow()
  if (wait > 0) Atomics.wait(nobody, 0, 0, wait)
  parentPort?.postMessage(index)
}
