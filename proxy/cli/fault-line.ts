import type { Fault } from '../../plugins/errors.ts'
import { plainText } from './output.ts'

/** A fault in one line: `path (line N): message`. */
export function lineFromFault({ path, line, message }: Fault): string {
  const place = [path, line === undefined ? '' : `(line ${line})`].filter((part) => part !== '').join(' ')
  return plainText(place === '' ? message : `${place}: ${message}`)
}
