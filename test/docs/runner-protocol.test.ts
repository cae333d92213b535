import { createHash, createHmac, createPublicKey, hkdfSync, verify } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { acknowledgementSchema, outcomes } from '../../plugins/acknowledgement.ts'
import { canonicalJson } from '../../plugins/canonical.ts'
import { capabilitiesFault, capabilitiesSchema } from '../../plugins/capabilities.ts'
import { directivesFromBody } from '../../plugins/directives.ts'
import { contextFault, contextSchema } from '../../plugins/execution-context.ts'
import { type RefusalKind, refusalFromProblem, refusalKinds } from '../../plugins/execution-context-refusal.ts'
import { layers } from '../../plugins/index.ts'
import { createSigningKey } from '../../plugins/jws-key.ts'
import type { Policy } from '../../plugins/policy.ts'
import { compileCodes, reportFault } from '../../plugins/policy-report.ts'
import { createSchema } from '../../plugins/schema.ts'
import { abiFiles } from '../abi.ts'
import { sections } from '../conformance/case.ts'
import { contextFaults } from '../conformance/context-faults.ts'
import { publishedLaws } from '../conformance/laws.ts'
import { usage } from '../conformance/options.ts'
import { workedExample } from '../conformance/worked-example.ts'
import { blocksFrom, pageFrom, plain, root, rowsUnder } from './page.ts'

const page = pageFrom('native-runner/README.md')
const example = workedExample()
const blocks = blocksFrom(page)

/** The JSON blocks under a heading. */
const jsonUnder = (title: string): readonly unknown[] =>
  blocks.filter(({ heading, language }) => heading === title && language === 'json').map(({ text }) => JSON.parse(text))
/** The named cells of a table's column. */
const column = (title: string, at = 0): readonly string[] => rowsUnder(page, title).map((cells) => plain(cells[at]))

describe('the worked example', () => {
  it('shows the documents as they are', () => {
    expect(jsonUnder('Capabilities')).toEqual([example.capabilities.document])
    expect(jsonUnder('Policies')[0]).toEqual(example.policy.document)
    expect(jsonUnder('Execution context')).toEqual([JSON.parse(example.context.payload)])
  })

  it('has every byte of the file that is published', () => {
    const texts = (value: unknown): string[] =>
      typeof value === 'string' ? [value] : Object.values(value as object).flatMap(texts)
    const { capabilities, policy, ed25519, ...rest } = example
    const { document: _, ...canonical } = capabilities
    const { document: __, ...carried } = policy
    const { gatewaySeedHex, runnerSeedHex, ...signed } = ed25519
    expect([gatewaySeedHex, runnerSeedHex]).toEqual(['01'.repeat(32), '02'.repeat(32)])
    const shown = [rest.key, rest.call, rest.acknowledgement, rest.context.payload, rest.context.header]
    const all = [canonical, carried, signed, ...shown].flatMap(texts)
    expect(all.length).toBeGreaterThan(15)
    expect(all.filter((text) => !page.includes(text))).toEqual([])
  })

  it('holds to the schemas', () => {
    expect(capabilitiesFault(example.capabilities.document)).toBeUndefined()
    expect(contextFault(JSON.parse(example.context.payload))).toBeUndefined()
    const { digest, document } = example.policy
    expect(reportFault(jsonUnder('Policies')[1], { digest, policy: document as Policy })).toBeUndefined()
    const [problem] = jsonUnder('The order of checks') as [object]
    const read = refusalFromProblem(401, 'application/problem+json', Buffer.from(JSON.stringify(problem)))
    expect(read).toMatchObject({ code: 'audience' })
    const [body] = jsonUnder('Directives')
    expect(directivesFromBody(Buffer.from(JSON.stringify(body)))).toHaveProperty('directives')
  })

  // By the standard library alone: what the page says is enough.
  const secret = Buffer.from(example.key.secretHex, 'hex')
  const sha256 = (text: string | Buffer) => createHash('sha256').update(text)
  const hmac = (key: Buffer, text: string) => createHmac('sha256', key).update(text)
  const split = (token: string): readonly [input: string, signature: string] => {
    const at = token.lastIndexOf('.')
    return [token.slice(0, at), token.slice(at + 1)]
  }

  it('can be computed from the page: digests', () => {
    expect(sha256(example.capabilities.canonical).digest('hex')).toBe(example.capabilities.document.caps)
    expect(sha256(example.policy.canonical).digest('hex')).toBe(example.policy.digest)
    const { bod, crd } = JSON.parse(example.context.payload) as { bod: string; crd: string }
    expect(sha256(example.call.body).digest('base64url')).toBe(bod)
    expect(sha256(example.call['x-caller-credential'] as string).digest('base64url')).toBe(crd)
    const e = sha256(example.acknowledgement.essence).digest().subarray(0, 16).toString('base64')
    expect(example.acknowledgement.head.value).toContain(`;e=:${e}:`)
  })

  it.each([example.policy.put, example.policy.question, example.context.header])(
    'can be computed from the page: the signature of %.40s',
    (token) => {
      const [input, signature] = split(token)
      expect(hmac(secret, input).digest('base64url')).toBe(signature)
    },
  )

  it('can be computed from the page: the macs of the acknowledgement', () => {
    const key = Buffer.from(hkdfSync('sha256', secret, 'foldgate', 'x-layer-ack', 32))
    expect(key.toString('hex')).toBe(example.acknowledgement.keyHex)
    for (const part of ['head', 'end'] as const) {
      const { macInput, value } = example.acknowledgement[part]
      const mac = hmac(key, macInput).digest('base64')
      expect(value).toContain(`;mac=:${mac}:`)
      expect(macInput.split('\n')).toEqual([
        part === 'head' ? 'x-layer-ack' : 'x-layer-ack-end',
        example.context.replayIdentity,
        example.policy.digest,
        value.replace(`;mac=:${mac}:`, ''),
      ])
    }
  })

  it('can be computed from the page: the signatures of Ed25519 pairs', () => {
    const { gatewaySeedHex, header, runnerSeedHex, acknowledgement } = example.ed25519
    const publicOf = (seed: string) => {
      const der = Buffer.from(`302e020100300506032b657004220420${seed}`, 'hex').toString('base64')
      return createPublicKey(`-----BEGIN PRIVATE KEY-----\n${der}\n-----END PRIVATE KEY-----\n`)
    }
    const [input, signature] = split(header)
    expect(verify(null, Buffer.from(input), publicOf(gatewaySeedHex), Buffer.from(signature, 'base64url'))).toBe(true)
    const mac = /;mac=:([^:]+):/.exec(acknowledgement)?.[1] as string
    const { macInput } = example.acknowledgement.head
    expect(verify(null, Buffer.from(macInput), publicOf(runnerSeedHex), Buffer.from(mac, 'base64'))).toBe(true)
  })

  it('is under keys that a runner takes', () => {
    expect(createSigningKey({ kid: example.key.kid, alg: 'HS256', secret }).kid).toBe('k1')
  })
})

describe('the published laws', () => {
  const laws = publishedLaws()
  const cases = Object.entries(laws.layers).flatMap(([layer, { cases: each }]) =>
    each.map((one) => [`${layer}: ${one.title}`, layer, one] as const),
  )
  const steps = createSchema<unknown>(JSON.parse(pageFrom('native-runner/abi/steps.schema.json')))

  it('are of every layer that folds, and some of each but the cache must be refused', () => {
    expect(Object.keys(laws.layers)).toEqual(column('Essence'))
    const refusing = new Set(
      cases
        .filter(
          ([
            ,
            ,
            {
              expect: { o },
            },
          ]) => o === 'refuse',
        )
        .map(([, layer]) => layer),
    )
    expect([...refusing, 'cache'].toSorted()).toEqual(column('Essence').toSorted())
  })

  it.each(cases)('%s: its step is one, and e is the digest of its essence', (_, layer, { step, expect: wanted }) => {
    expect(steps.faults({ [layer]: step })).toEqual([])
    const bytes = sha256Of(canonicalJson(wanted.essence)).subarray(0, 16)
    expect(bytes.toString('base64')).toBe(wanted.e)
  })
})
const sha256Of = (text: string): Buffer => createHash('sha256').update(text).digest()

describe('the tables of the protocol', () => {
  it('name every file of abi/, and no other', () => {
    const files = readdirSync(join(root, 'native-runner/abi')).toSorted()
    expect(
      rowsUnder(page, 'The protocol')
        .map(([cell]) => plain(cell))
        .filter((cell) => cell.endsWith('.json'))
        .toSorted(),
    ).toEqual(files)
    expect(
      Object.keys(abiFiles)
        .map((path) => path.replace('native-runner/abi/', ''))
        .toSorted(),
    ).toEqual(files)
  })

  it('name every member of the capabilities and of a context, and no other', () => {
    expect(column('Capabilities').toSorted()).toEqual(Object.keys(capabilitiesSchema['properties']).toSorted())
    const members = column('Execution context').flatMap((cell) => cell.split(', '))
    expect(members.toSorted()).toEqual(Object.keys(contextSchema['properties']).toSorted())
  })

  it('have the codes of compiling in their order', () => {
    expect(column('Policies')).toEqual(compileCodes)
  })

  it('have the checks in their order, as the conformance command tries them', () => {
    const checks = rowsUnder(page, 'The order of checks').filter((cells) => cells.length === 2)
    expect(checks.map(([, code]) => plain(code))).toEqual(['missing', ...contextFaults.map(({ code }) => code)])
  })

  it('have every refusal with its status and its reason', () => {
    const refusals = rowsUnder(page, 'The order of checks').filter((cells) => cells.length === 3)
    const known = Object.entries(refusalKinds).map(([code, { status, reason }]: [string, RefusalKind]) => {
      return [code, String(status), reason ?? 'unsupported-layer or unsupported-version']
    })
    expect(refusals.map((cells) => cells.map(plain))).toEqual(known)
  })

  it('have every parameter of an acknowledgement, and every outcome', () => {
    const rows = rowsUnder(page, 'Acknowledgement').map((cells) => cells.map(plain))
    const of = (...members: readonly string[]) =>
      rows.filter((cells) => cells.length === 4 && members.includes(cells[0] ?? '')).map((cells) => cells[1])
    const { runner, usage: spent, layers: layer } = acknowledgementSchema['properties']
    expect(
      of('runner')
        .filter((name) => name !== 'mac')
        .toSorted(),
    ).toEqual(Object.keys(runner.properties).toSorted())
    expect(of('usage')).toEqual(Object.keys(spent.properties))
    const ofLayers = Object.keys(layer.additionalProperties.properties)
    expect(of('a layer', 'auth', 'rate-limit').toSorted()).toEqual(ofLayers.toSorted())
    expect(rows.filter((cells) => cells.length === 2).map(([name]) => name)).toEqual(outcomes)
  })

  it('have the essence of every layer that folds', () => {
    expect(column('Essence')).toEqual(layers.filter(({ native }) => native).map(({ name }) => name))
  })

  it('have the flags and sections of the conformance command', () => {
    const known = [...usage.matchAll(/^ {2}(--?[a-z-]+)/gm)].map(([, flag]) => flag)
    const named = column('Try a runner').map((cell) => cell.split(', ').at(-1))
    expect([...named, '--help']).toEqual(known)
    const text = rowsUnder(page, 'Try a runner')
      .map(([, meaning]) => meaning)
      .join()
    expect(sections.filter((section) => !text.includes(`\`${section}\``))).toEqual([])
  })
})
