import type { RefusalCode } from '../../plugins/execution-context-refusal.ts'
import { signJws } from '../../plugins/jws.ts'
import { createSigningKey } from '../../plugins/jws-key.ts'
import { type Case, mustRefuse } from './case.ts'
import { type Draft, draftOf, type Ground, groundOf, sendDraft } from './context-faults.ts'
import { paths, type Subject } from './subject.ts'

const see = 'execution-context'

/** One context that is spoilt in its own way. */
export const refused = (title: string, code: RefusalCode, spoil: (draft: Draft, ground: Ground) => void): Case => ({
  title,
  see,
  async run(runner) {
    const ground = await groundOf(runner)
    const draft = draftOf(ground)
    spoil(draft, ground)
    mustRefuse(await sendDraft(ground, draft, { path: paths.decide, words: title }), code)
  },
})

const finished = (title: string, code: RefusalCode, finish: Draft['finish']): Case =>
  refused(title, code, (draft) => {
    draft.finish = finish
  })

/** A token made anew of its parts, signed with the right key. */
const remade = (
  title: string,
  code: RefusalCode,
  parts: (header: object, payload: string, runner: Subject) => string,
) =>
  refused(title, code, (draft, { runner }) => {
    draft.finish = (token) => {
      const [header = '', payload = ''] = token.split('.').map((each) => Buffer.from(each, 'base64url').toString())
      return parts(JSON.parse(header) as object, payload, runner)
    }
  })
const b64 = (text: string): string => Buffer.from(text).toString('base64url')
const signed = (input: string, { key }: Subject): string => `${input}.${key.sign(input, 'base64url')}`

/** Tokens that are none of ours. */
export const formCases: readonly Case[] = [
  finished('a context of two segments is refused', 'invalid', (token) => token.slice(0, token.lastIndexOf('.'))),
  finished('a context with loose bits in its signature is refused', 'invalid', (token) => {
    const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    return token.slice(0, -1) + digits[digits.indexOf(token.at(-1) as string) | 1]
  }),
  finished('a context whose payload was changed is refused', 'signature', (token) => {
    const [header, payload = '', signature] = token.split('.')
    const other = Buffer.from(payload, 'base64url').toString().replace('"attempt":1', '"attempt":2')
    return `${header}.${b64(other)}.${signature}`
  }),
  remade('a token header with a fourth member is refused', 'invalid', (header, payload, runner) =>
    signed(`${b64(JSON.stringify({ ...header, crit: [] }))}.${b64(payload)}`, runner),
  ),
  remade('a policy’s token in the place of a context is refused', 'invalid', (_, payload, { key }) =>
    signJws(payload, key, 'exec-policy+jws'),
  ),
  remade(
    'a token without a signature, of the algorithm none, is refused',
    'signature',
    (header, payload) => `${b64(JSON.stringify({ ...header, alg: 'none' }))}.${b64(payload)}.`,
  ),
  remade('a token of another algorithm than that of its key is refused', 'signature', (_, payload, { key }) => {
    const other =
      key.alg === 'HS256' ? ed25519() : createSigningKey({ kid: 'x', alg: 'HS256', secret: Buffer.alloc(32) })
    return signJws(payload, { ...other, kid: key.kid }, 'exec-ctx+jws')
  }),
  remade('a payload with a member twice is refused', 'invalid', (_, payload, { key }) =>
    signJws(payload.replace('{"v":1,', '{"v":1,"v":1,'), key, 'exec-ctx+jws'),
  ),
  remade('a payload that is no object is refused', 'invalid', (_, _payload, { key }) =>
    signJws('[]', key, 'exec-ctx+jws'),
  ),
]
const ed25519 = () => createSigningKey({ kid: 'x', alg: 'EdDSA', privateKey: seedPem })
const seedPem = `-----BEGIN PRIVATE KEY-----\n${Buffer.concat([
  Buffer.from('302e020100300506032b657004220420', 'hex'),
  Buffer.alloc(32, 7),
]).toString('base64')}\n-----END PRIVATE KEY-----\n`
