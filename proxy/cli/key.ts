import { closeSync, openSync, writeSync } from 'node:fs'
import { createApiKey } from '../../plugins/auth/api-key.ts'
import { gatewayError } from '../../plugins/errors.ts'
import { formatFromInvocation, outputOption, printData } from './output.ts'
import { textOption, type Verb } from './verb.ts'

/** `foldgate key new`: makes an API key or an admin token. */
export const key: Verb = {
  name: 'key',
  summary: 'make a key for a caller, or a token for the admin port, and the hash that the configuration keeps of it',
  usage: 'new [--hash-file FILE] [-o FORMAT]',
  example: 'foldgate key new --hash-file ci.hash',
  options: {
    'hash-file': { type: 'string', help: 'write the hash to a new file, to be named as hashFile' },
    ...outputOption,
  },
  takes: [1, 1],
  run(invocation) {
    const { io } = invocation
    if (invocation.positionals[0] !== 'new') throw gatewayError('usage', 'key knows one thing to do: new')
    const format = formatFromInvocation(invocation)
    const file = textOption(invocation, 'hash-file')
    const made = createApiKey()
    if (file !== undefined) writeNewFile(file, `${made.hash}\n`)
    if (!printData(io, format, { ...made, ...(file === undefined ? {} : { hashFile: file }) })) {
      io.out(format === 'name' ? made.key : `key   ${made.key}\nhash  ${made.hash}`)
    }
    io.say('the key is shown this once and kept nowhere; give it to its holder')
    io.say(
      `the configuration keeps its hash: { id: …, tenant: …, ${file === undefined ? `hash: ${made.hash}` : `hashFile: ${file}`} }`,
    )
    return 0
  },
}

/** Writes a file that only its owner may read; one that is there already is never overwritten. */
function writeNewFile(file: string, text: string): void {
  try {
    const open = openSync(file, 'wx', 0o600)
    writeSync(open, text)
    closeSync(open)
  } catch (reason) {
    const exists = (reason as NodeJS.ErrnoException).code === 'EEXIST'
    throw gatewayError('usage', `${file} ${exists ? 'is there already' : 'cannot be written'}`, { cause: reason })
  }
}
