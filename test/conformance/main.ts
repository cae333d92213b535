import { NoAnswer } from './finding.ts'
import { type ConformanceOptions, optionsFrom, usage } from './options.ts'
import { textOf } from './report.ts'

/** `npm run conformance`: holds any runner to the protocol, over the wire. */
async function main(): Promise<number> {
  let options: ConformanceOptions | 'help'
  try {
    options = optionsFrom(process.argv.slice(2))
  } catch (fault) {
    process.stderr.write(`${fault instanceof Error ? fault.message : String(fault)}\n\n${usage}`)
    return 2
  }
  if (options === 'help') {
    process.stdout.write(usage)
    return 0
  }
  try {
    // The cases bring every layer along: nobody waits for them to read the usage.
    const { conformanceOf } = await import('./conformance.ts')
    const conformance = await conformanceOf(options.subject, options.only)
    process.stdout.write(textOf(conformance, options.output))
    return conformance.failed > 0 ? 1 : 0
  } catch (fault) {
    if (!(fault instanceof NoAnswer)) throw fault
    process.stderr.write(`${options.subject.url} cannot be reached: ${fault.message}\n`)
    return 4
  }
}

process.exitCode = await main()
