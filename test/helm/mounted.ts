import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { only, type Rendered } from './chart.ts'

const keyPair = () =>
  generateKeyPairSync('ed25519', {
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
const signing = keyPair()
const ack = keyPair()
const hash = `${'ab'.repeat(32)}\n`
const files: Readonly<Record<string, string>> = {
  'runner.key': `${'r'.repeat(43)}\n`,
  'signing.key': `${'k'.repeat(43)}\n`,
  'signing.pem': signing.privateKey,
  'signing.pub': signing.publicKey,
  'ack.pem': ack.privateKey,
  'ack.pub': ack.publicKey,
  'caller.hash': hash,
  'oncall.hash': hash,
  'drain.hash': hash,
  'redis-url': 'redis://:password@redis:6379/0\n',
}

/** A folder with what a pod would have under /etc/foldgate and /run/foldgate, and texts that name it instead. */
export function mountInto(path: string): (text: string) => string {
  for (const folder of ['secrets', 'keys', 'layer-secrets', 'run']) {
    mkdirSync(join(path, folder))
    for (const [name, text] of Object.entries(files)) writeFileSync(join(path, folder, name), text)
  }
  return (text) => text.replaceAll('/etc/foldgate/', `${path}/`).replaceAll('/run/foldgate/', `${path}/run/`)
}

/** The configuration that the gateway of a rendered chart reads. */
export function configText(objects: readonly Rendered[]): string {
  return only(objects, 'ConfigMap')['data']['gateway.yaml'] as string
}
