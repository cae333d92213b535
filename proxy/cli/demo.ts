import { gatewayError } from '../../plugins/errors.ts'
import { textOption, type Verb } from './verb.ts'

const stages = [1, 10, 50, 100]

/** `foldgate demo canary`: a layer goes out by itself, and comes back by itself when its runner breaks. */
export const demo: Verb = {
  name: 'demo',
  summary:
    'show a canary: a layer goes to the runner on evidence, and comes back when the runner breaks; a few minutes',
  usage: 'canary [--faults PERCENT,…] [--stages PERCENT,…] [--real]',
  example: 'foldgate demo canary --real --faults 1,5,50,100',
  options: {
    faults: {
      type: 'string',
      help: 'shares of the shaky runner’s calls that break; default 50,100; with --real 1,5,50,100',
    },
    real: { type: 'boolean', help: 'rates as they are outside demonstrations: some hundred thousand calls' },
    stages: { type: 'string', help: `shares of the canary at which they begin; default ${stages.join(',')}` },
  },
  takes: [1, 1],
  async run(invocation) {
    const [what] = invocation.positionals
    if (what !== 'canary') throw gatewayError('invalid_request', 'there is one demonstration: foldgate demo canary')
    const real = invocation.values['real'] === true
    const faults = percentsFrom(textOption(invocation, 'faults') ?? (real ? '1,5,50,100' : '50,100'), 'faults')
    const at = percentsFrom(textOption(invocation, 'stages') ?? stages.join(','), 'stages')
    if (at.some((stage) => !stages.includes(stage)))
      throw gatewayError('invalid_request', `--stages: there are ${stages.join(', ')}`)
    const { demoCanary } = await import('../demo/demo-canary.ts')
    const { io } = invocation
    const well = await demoCanary({
      faults,
      shares: at,
      scale: real ? 1 : 10,
      signal: io.signal,
      say: (line) => io.out(line),
    })
    return well ? 0 : 3
  },
}

function percentsFrom(text: string, name: string): number[] {
  const numbers = text.split(',').map(Number)
  if (numbers.every((each) => each > 0 && each <= 100)) return numbers
  throw gatewayError('invalid_request', `--${name}: percents from 1 to 100, such as 5,50`)
}
