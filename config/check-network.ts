import { isIP } from 'node:net'
import type { Check } from './check.ts'
import { isLoopback } from './loopback.ts'

const proxies: Check = {
  reads: ['listen'],
  run({ listen }, notes) {
    for (const [index, address] of listen.trustedProxies.entries()) {
      if (!isNetwork(address))
        notes.fault(`listen.trustedProxies[${index}]`, 'must be an IP address or a network such as 10.0.0.0/8')
    }
    if (listen.trustedProxies.some((address) => /\/0+$/.test(address))) {
      notes.warn('listen.trustedProxies', 'trusts every address, so each caller can claim any client_ip')
    }
  },
}

/** Whether a text is an IP address or a network in CIDR notation. */
function isNetwork(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/')
  const version = isIP(address)
  if (version === 0 || more.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
}

const ports: Check = {
  reads: ['listen', 'admin'],
  run({ listen, admin }, notes) {
    const everywhere = [listen.host, admin.host].some((host) => host === '0.0.0.0' || host === '::')
    if (listen.port !== 0 && listen.port === admin.port && (listen.host === admin.host || everywhere)) {
      notes.fault('admin.port', `must differ from listen.port, which is ${listen.port} too`)
    }
  },
}

const adminTokens: Check = {
  reads: ['admin'],
  run({ admin }, notes) {
    const names = new Set<string>()
    for (const [index, token] of admin.tokens.entries()) {
      const path = `admin.tokens[${index}]`
      if (names.has(token.name)) notes.fault(`${path}.name`, `${token.name} is there twice`)
      names.add(token.name)
      if ((token.hash === null) === (token.hashFile === null))
        notes.fault(path, 'needs exactly one of hash and hashFile')
    }
    if (admin.tokens.length === 0 && !isLoopback(admin.host)) {
      notes.warn('admin.tokens', `is empty, so on ${admin.host} nothing but probes and metrics can be asked`)
    }
  },
}

/** Checks of the two listeners. */
export const networkChecks: readonly Check[] = [proxies, ports, adminTokens]
