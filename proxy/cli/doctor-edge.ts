import { readSecretFile } from '../../config/secret-file.ts'
import { gatewayError } from '../../plugins/errors.ts'
import type { EdgeQuestion } from './examine-edge.ts'
import { type Invocation, type Option, textOption } from './verb.ts'

/** The options of `doctor` that compare the way through an edge with the direct one. */
export const edgeOptions: Readonly<Record<'via' | 'direct' | 'api-key-file' | 'model', Option>> = {
  via: { type: 'string', multiple: true, help: 'URL through an edge, once a hop, outermost first; needs --direct' },
  direct: { type: 'string', help: 'URL of the gateway itself, to compare with --via' },
  'api-key-file': { type: 'string', help: 'file with the key that requests bear, with --via' },
  model: { type: 'string', help: 'model that is asked, with --via (default: the first that is listed)' },
}

/** What an invocation asks of edges; undefined when nothing. Throws `usage` for half a question, `config_invalid` for the key file. */
export function edgeFromInvocation(invocation: Invocation): EdgeQuestion | undefined {
  const given = invocation.values['via']
  const vias = Array.isArray(given) ? (given as readonly string[]) : []
  const direct = textOption(invocation, 'direct')
  if (vias.length === 0 && direct === undefined) return undefined
  if (vias.length === 0 || direct === undefined)
    throw gatewayError('usage', '--via and --direct are given together: what is compared are two ways to one gateway')
  const keyFile = textOption(invocation, 'api-key-file')
  return {
    vias: vias.map((url) => baseUrl('--via', url)),
    direct: baseUrl('--direct', direct),
    apiKey: keyFile === undefined ? undefined : readSecretFile(keyFile).toString('latin1').trim(),
    model: textOption(invocation, 'model'),
  }
}

function baseUrl(option: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol))
    throw gatewayError('usage', `${option} takes a URL such as https://llm.example.com`)
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '').replace(/\/v1$/, '')
}
