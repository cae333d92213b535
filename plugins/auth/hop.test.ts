import { describe, expect, it } from 'vitest'
import { bearing, hexHash, openAuthRig } from './test-host.ts'

const trustedHop = {
  idHeader: 'X-User',
  tenantHeader: 'x-tenant',
  tierHeader: 'x-tier',
  scopesHeader: 'x-scopes',
  claimHeaders: { plan: 'x-plan' },
}
const named = { 'x-user': 'ada', 'x-tenant': 't1', 'x-tier': 'vip', 'x-scopes': 'a b', 'x-plan': 'gold' }
const trusts = (address: string): boolean => address === '10.0.0.1'
const open = (more: object = {}) => openAuthRig({ trustedHop, ...more }, { trusts })

describe('a trusted hop', () => {
  it('names the caller in its headers', async () => {
    const rig = await open()
    expect(await rig.principal(named, { peer: '10.0.0.1' })).toEqual({
      id: 'ada',
      tenant: 't1',
      tier: 'vip',
      scopes: ['a', 'b'],
      claims: { plan: 'gold' },
      method: 'trusted-hop',
    })
  })

  it('is the other end of the socket, not an address that a header says', async () => {
    const rig = await open()
    expect((await rig.refusal(named, { peer: '203.0.113.9', client_ip: '10.0.0.1' })).status).toBe(401)
    expect((await rig.principal(named, { peer: '10.0.0.1', client_ip: '203.0.113.9' })).id).toBe('ada')
  })

  it('counts for nothing from another address: the headers are as if they were not there', async () => {
    const rig = await open({ anonymous: true })
    expect((await rig.principal(named, { peer: '203.0.113.9' })).method).toBe('anonymous')
    expect((await rig.principal({ ...named, ...bearing('x') }, {})).method).toBe('anonymous')
  })

  it('may be known by its client certificate instead', async () => {
    const names = { ...trustedHop, certificates: ['URI:spiffe://example.org/edge', 'CN:edge'] }
    const rig = await openAuthRig({ trustedHop: names }, { trusts: () => false })
    const certificate = (subject: string, ...san: string[]) => ({ peerCertificate: { subject, san } })
    expect((await rig.principal(named, certificate('', 'URI:spiffe://example.org/edge'))).id).toBe('ada')
    expect((await rig.principal(named, certificate('edge'))).id).toBe('ada')
    for (const facts of [certificate('other', 'DNS:edge'), certificate('URI:spiffe://example.org/edge'), {}]) {
      expect((await rig.refusal(named, facts)).status).toBe(401)
    }
  })

  it('whose header came twice is refused', async () => {
    const rig = await open({ anonymous: true })
    for (const name of Object.keys(named)) {
      const error = await rig.refusal({ ...named, [name]: 'admin, ada' }, { peer: '10.0.0.1' })
      expect([error.status, error.detail.cause]).toEqual([401, 'hop-headers'])
    }
  })

  it('that names nobody leaves the call to its credential', async () => {
    const rig = await open({ apiKeys: [{ id: 'ci', hash: hexHash('fg_k'), tenant: 't2' }] })
    expect((await rig.principal({ 'x-tenant': 't1', ...bearing('fg_k') }, { peer: '10.0.0.1' })).tenant).toBe('t2')
    expect((await rig.refusal({ 'x-user': '', 'x-tenant': 't1' }, { peer: '10.0.0.1' })).status).toBe(401)
  })

  it('without a tenant gives the caller one of its own', async () => {
    const rig = await open()
    expect((await rig.principal({ 'x-user': 'ada' }, { peer: '10.0.0.1' })).tenant).toBe('sub:ada')
  })
})

describe('a client certificate', () => {
  const clientCertificates = [
    { name: 'URI:spiffe://example.org/batch', id: 'batch', tenant: 't1', tier: 'free' },
    { name: 'CN:reports', tenant: 't2' },
  ]

  it('names a caller by a name it bears', async () => {
    const rig = await openAuthRig({ clientCertificates })
    const batch = { peerCertificate: { subject: 'x', san: ['DNS:a', 'URI:spiffe://example.org/batch'] } }
    expect(await rig.principal({}, batch)).toMatchObject({ id: 'batch', tenant: 't1', tier: 'free', method: 'mtls' })
    const reports = { peerCertificate: { subject: 'reports', san: [] } }
    expect(await rig.principal({}, reports)).toMatchObject({ id: 'CN:reports', tenant: 't2' })
    expect((await rig.refusal({}, { peerCertificate: { subject: 'other', san: [] } })).status).toBe(401)
    expect((await rig.refusal({})).status).toBe(401)
  })

  it('stands behind a credential, which must be right', async () => {
    const apiKeys = [{ id: 'ci', hash: hexHash('fg_k'), tenant: 't3' }]
    const rig = await openAuthRig({ clientCertificates, apiKeys })
    const facts = { peerCertificate: { subject: 'reports', san: [] } }
    expect((await rig.principal(bearing('fg_k'), facts)).tenant).toBe('t3')
    expect((await rig.principal({}, facts)).tenant).toBe('t2')
    expect((await rig.refusal(bearing('fg_wrong'), facts)).status).toBe(401)
  })
})
