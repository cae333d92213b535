import { type Capabilities, capabilitiesDigest, capabilitiesSchema } from '../../plugins/capabilities.ts'
import { createSchema, sayFault } from '../../plugins/schema.ts'
import { type Case, mustBe, mustHold } from './case.ts'
import { inWords, jsonOf } from './exchange.ts'
import { foldingLayers } from './samples.ts'
import { wellKnown } from './subject.ts'

const see = 'capabilities'
const outline = createSchema<Capabilities>(capabilitiesSchema)

/** What the document of capabilities must be. */
export const capabilityCases: readonly Case[] = [
  {
    title: 'the document is there for everybody, and holds to its schema',
    see,
    async run({ said }) {
      mustBe(said, 200, 'capabilities are asked for without a key')
      const [fault] = outline.faults(jsonOf(said))
      const must = 'capabilities hold to native-runner/abi/capabilities.schema.json'
      mustHold(fault === undefined, said, { came: `${sayFault(fault)}; ${inWords(said)}`, must })
    },
  },
  {
    title: 'caps is the digest of the document',
    see,
    async run({ said, capabilities }) {
      const digest = capabilitiesDigest(capabilities)
      const came = `caps is ${capabilities.caps}, the digest ${digest}`
      const must = 'caps is the SHA-256 of the canonical form of the document less boot, caps and load'
      mustHold(capabilities.caps === digest, said, { came, must })
    },
  },
  {
    title: 'boot stays for as long as the process does',
    see,
    async run({ ask, capabilities: { boot } }) {
      const again = await ask(wellKnown, { method: 'GET', words: 'once more' })
      const other = (jsonOf(again) as Partial<Capabilities> | undefined)?.boot
      const must = 'boot is drawn when the process starts, and not again'
      mustHold(other === boot, again, { came: `boot was ${boot} and is ${other}`, must })
    },
  },
  {
    title: 'the key that we sign with is known',
    see,
    async run({ said, key, capabilities: { keys } }) {
      const must = `keys lists the kid ${key.kid}`
      mustHold(keys.includes(key.kid), said, { came: `keys is ${JSON.stringify(keys)}`, must })
    },
  },
  {
    title: 'version 1 of the protocol is spoken',
    see,
    async run({ said, capabilities: { versions } }) {
      mustHold(versions.includes(1), said, { came: `versions is ${JSON.stringify(versions)}`, must: 'versions has 1' })
    },
  },
  {
    title: 'every layer that is offered is one of the published steps, in its version',
    see,
    async run({ said, capabilities: { layers } }) {
      const strange = Object.entries(layers).find(
        ([name, { version }]) => foldingLayers.find((each) => each.name === name)?.native?.version !== version,
      )
      const came = strange && `layers.${strange[0]} in version ${strange[1].version}`
      const known = foldingLayers.map(({ name, native }) => `${name} ${native?.version}`).join(', ')
      mustHold(strange === undefined, said, { came: came ?? '', must: `layers are some of ${known}` })
    },
  },
]
