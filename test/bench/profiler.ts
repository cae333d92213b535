import { writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'

/**
 * Loaded into a process with `--import`: SIGALRM begins a CPU profile, the next one writes it to the file in `BENCH_PROFILE`. So start and
 * compilation stay out of it, which `--cpu-prof` would mix in.
 */
const session = new Session()
session.connect()
let running = false
let turn = Promise.resolve()

async function toggle(): Promise<void> {
  if (running) {
    const { profile } = await session.post('Profiler.stop')
    writeFileSync(process.env['BENCH_PROFILE'] ?? 'bench.cpuprofile', JSON.stringify(profile))
    console.log('profile written')
  } else {
    await session.post('Profiler.enable')
    await session.post('Profiler.setSamplingInterval', { interval: 200 })
    await session.post('Profiler.start')
    console.log('profile begun')
  }
  running = !running
}

process.on('SIGALRM', () => {
  turn = turn.then(toggle)
})
