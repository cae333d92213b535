import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Script, Store } from '../../plugins/store.ts'
import { freePortWithBus } from '../../test/support/ports.ts'
import { redisAvailable, startServer } from '../../test/support/redis.ts'
import { startRedisCluster, startRedisSentinel } from '../../test/support/redis-groups.ts'
import { createTempDir } from '../../test/support/temp-dir.ts'
import { storeSchema } from '../store.ts'
import { createStore } from './index.ts'

const wall = { now: () => Date.now() }
const silent = { info() {}, warn() {}, error() {} }
const both: Script = {
  name: 'both',
  lua: `return { redis.call('INCR', KEYS[1]), redis.call('INCR', KEYS[2]) }`,
  local: () => [],
}

const open: Store[] = []
async function storeOver(section: object): Promise<Store> {
  const store = await createStore(storeSchema.parse({ kind: 'redis', onLoss: 'closed', ...section }), wall, silent)
  open.push(store)
  return store
}
afterEach(async () => {
  for (const store of open.splice(0)) await store.close()
})
const urlsOf = (addresses: readonly { host: string; port: number }[]) =>
  addresses.map(({ host, port }) => `redis://${host}:${port}`)

describe.skipIf(!redisAvailable)('the store over a Redis Cluster of three masters', () => {
  test('runs scripts on tagged keys, wherever they live, and deletes prefixes on all nodes', {
    timeout: 40_000,
  }, async () => {
    await using cluster = await startRedisCluster({ masters: 3 })
    const store = await storeOver({ cluster: urlsOf(cluster!.addresses.slice(0, 1)) })
    expect(store.up()).toBe(true)
    for (let i = 0; i < 60; i++) {
      expect(await store.run(both, [`a{t:${i}}`, `b{t:${i}}`], [])).toEqual([1, 1])
      await store.set(`v:${i}`, Buffer.from(String(i)), 60_000)
    }
    const sizes = await Promise.all(cluster!.nodes.map((node) => node.cli('dbsize')))
    expect(sizes.every((size) => Number(size) > 10)).toBe(true)
    expect(String(await store.get('v:7'))).toBe('7')
    expect(await store.deletePrefix('v:')).toBe(60)
    // Every node forgets the script; none of the calls notices.
    await Promise.all(cluster!.nodes.map((node) => node.cli('script', 'flush')))
    for (let i = 0; i < 20; i++) expect(await store.run(both, [`a{t:${i}}`, `b{t:${i}}`], [])).toEqual([2, 2])
  })

  test('goes on with the replica that takes over from a dead master', { timeout: 60_000 }, async () => {
    await using cluster = await startRedisCluster({ masters: 3, replicas: 1 })
    const store = await storeOver({ cluster: urlsOf(cluster!.addresses) })
    const keys = Array.from({ length: 30 }, (_, i) => [`a{t:${i}}`, `b{t:${i}}`])
    for (const pair of keys) await store.run(both, pair, [])
    const [master] = await cluster!.masters()
    await master!.kill()
    const all = () => Promise.all(keys.map((pair) => store.run(both, pair, [])))
    await vi.waitFor(all, { timeout: 20_000, interval: 200 })
    expect(store.up()).toBe(true)
  })
})

describe.skipIf(!redisAvailable)('the store over a master that sentinels name', () => {
  test('follows a failover', { timeout: 60_000 }, async () => {
    await using group = await startRedisSentinel()
    const store = await storeOver({ sentinel: { name: group!.name, urls: urlsOf(group!.addresses) } })
    await store.set('k', Buffer.from('v'), 600_000)
    expect(await group!.master.cli('get', 'foldgate:k')).toBe('v')
    await vi.waitFor(async () => expect(await group!.replica.cli('get', 'foldgate:k')).toBe('v'), { timeout: 5000 })
    await group!.master.kill()
    const write = async () => {
      expect(await store.add('after', Buffer.from('1'), 600_000)).toBe(true)
    }
    await vi.waitFor(write, { timeout: 30_000, interval: 200 })
    expect(await group!.replica.cli('get', 'foldgate:after')).toBe('1')
  })
})

describe.skipIf(!redisAvailable || !hasOpenssl())('the store over TLS', () => {
  test('trusts the authority it is given and no other', { timeout: 20_000 }, async () => {
    await using dir = createTempDir()
    const [key, cert] = [dir.file('key.pem'), dir.file('cert.pem')]
    const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1']
    const make = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
    execFileSync('openssl', [...make, ...subject, '-keyout', key, '-out', cert], { stdio: 'ignore' })
    const port = await freePortWithBus()
    const files = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', cert]
    await using _redis = await startServer({
      args: ['--tls-port', String(port), ...files, '--tls-auth-clients', 'no', '--requirepass', 'secret'],
    })
    const url = `rediss://:secret@127.0.0.1:${port}`
    const trusting = await storeOver({ url, tls: { ca: readFileSync(cert, 'utf8') } })
    await trusting.set('k', Buffer.from('v'), 60_000)
    expect(String(await trusting.get('k'))).toBe('v')
    expect((await storeOver({ url })).up()).toBe(false)
  })
})

function hasOpenssl(): boolean {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
