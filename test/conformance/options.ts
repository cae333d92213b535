import { parseArgs } from 'node:util'
import { readNamedFile, readSecretFile } from '../../config/secret-file.ts'
import { acknowledgementKey } from '../../plugins/acknowledgement-verify.ts'
import { createSigningKey, createVerifyingKey, type SigningKey } from '../../plugins/jws-key.ts'
import { type Section, sections } from './case.ts'
import { type Output, outputs } from './report.ts'
import type { SubjectOptions } from './subject.ts'

/** How the command is called. */
export const usage = `npm run conformance -- --url URL --key KID=FILE [options]

  --url URL             the runner
  --key KID=FILE        a key that it knows: an HS256 secret of 32 bytes or more, or a private Ed25519 key in PEM
  --ack-key-file FILE   the public half of its --ack-key, in PEM; needed beside an Ed25519 key
  --api-key-file FILE   its API key; without it the plain call is not tried
  --model ID            the model that it is asked for (default: the first that it lists)
  -o table|json         how the report is written (default table)
  --only SECTION        ${sections.join(', ')}; once for each (default all)
  --help                this text

exit codes: 0 all hold, 1 something failed, 2 usage, 4 the runner cannot be reached
`

/** What a run was asked for. */
export interface ConformanceOptions {
  readonly subject: SubjectOptions
  readonly output: Output
  readonly only: readonly Section[]
}

/** What the command line asks for, or `help`. Throws with words for what is not in {@link usage}, and for files that cannot be used. */
export function optionsFrom(args: readonly string[]): ConformanceOptions | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      url: { type: 'string' },
      key: { type: 'string' },
      'ack-key-file': { type: 'string' },
      'api-key-file': { type: 'string' },
      model: { type: 'string' },
      output: { type: 'string', short: 'o', default: 'table' },
      only: { type: 'string', multiple: true, default: [...sections] },
      help: { type: 'boolean', short: 'h' },
    },
  })
  if (values.help) return 'help'
  const { url, model, 'ack-key-file': ackKeyFile, 'api-key-file': apiKeyFile } = values
  if (url === undefined || !/^https?:\/\//.test(url) || !URL.canParse(url))
    throw new TypeError('--url reads http://HOST:PORT')
  const key = keyFrom(values.key)
  const subject = {
    url,
    key,
    ackKey: ackKeyFrom(key, ackKeyFile),
    ...(apiKeyFile === undefined ? {} : { apiKey: readSecretFile(apiKeyFile).toString() }),
    ...(model === undefined ? {} : { model }),
  }
  return {
    subject,
    output: oneOf('-o', outputs, values.output),
    only: values.only.map((each) => oneOf('--only', sections, each)),
  }
}

function keyFrom(text: string | undefined): SigningKey {
  const [, kid, path] = /^([^=]+)=(.+)$/.exec(text ?? '') ?? []
  if (kid === undefined || path === undefined) throw new TypeError('--key reads KID=FILE')
  const bytes = readSecretFile(path)
  const isPem = bytes.includes('-----BEGIN')
  return createSigningKey(isPem ? { kid, alg: 'EdDSA', privateKey: bytes } : { kid, alg: 'HS256', secret: bytes })
}

function ackKeyFrom(key: SigningKey, file: string | undefined): SubjectOptions['ackKey'] {
  if (key.alg === 'HS256') return acknowledgementKey(key)
  if (file === undefined)
    throw new TypeError('an Ed25519 --key needs --ack-key-file: it derives no key of acknowledgements')
  return createVerifyingKey({ kid: 'ack', alg: 'EdDSA', publicKey: readNamedFile(file) })
}

function oneOf<const T extends string>(flag: string, known: readonly T[], value: string): T {
  if (known.includes(value as T)) return value as T
  throw new TypeError(`${flag} is one of ${known.join(', ')}, not ${JSON.stringify(value)}`)
}
