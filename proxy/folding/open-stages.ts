import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { GatewayConfig } from '../../config/schema.ts'
import type { StoreConfig } from '../../config/store.ts'
import type { Http, Log } from '../../plugins/host.ts'
import { createKeyRing } from '../../plugins/jws-key.ts'
import { activeKey, verifyingKeys } from './processes/keys.ts'
import { openRolloutState } from './state/open.ts'
import type { PeerReply } from './state/peer-courier.ts'
import type { Replica } from './state/replica.ts'
import type { RolloutState } from './state/state.ts'

/** Where this replica keeps the stages, and how others speak to it. */
export interface OpenedState {
  readonly state: RolloutState
  /** Takes in the body of a `POST /-/peers`; undefined where replicas do not speak to each other. */
  receive?(body: string): Promise<PeerReply>
}

/** What the state is opened with. */
export interface StateParts {
  readonly config: GatewayConfig<StoreConfig>
  readonly replica: Replica
  readonly http: Http
  readonly log: Log
  /** A path of the configuration as an absolute one. */
  resolve(path: string): string
  secretFile(path: string): Buffer
}

/** Opens the state of the stages: Redis where the store is one, the peers where some are named, else this process and its file. */
export async function openState(parts: StateParts): Promise<OpenedState> {
  const { config, log, replica } = parts
  const path = fileOf(parts)
  const state = await openRolloutState({
    store: config.store,
    replica,
    log,
    ...(path === undefined ? {} : { path }),
    ...peersOf(parts),
  })
  const { receive } = state
  return { state, ...(receive ? { receive: (body: string) => receive(body) } : {}) }
}

/** How the other replicas are spoken to; nothing where none are named, or there is no key to sign with. */
function peersOf(parts: StateParts): Pick<Parameters<typeof openRolloutState>[0], 'peers'> {
  const { config, http } = parts
  const key = activeKey(config.signing, parts)
  if (config.folding.peers.length === 0 || !key) return {}
  const ring = createKeyRing(verifyingKeys(config.signing, parts))
  const headers = { 'content-type': 'application/json' }
  return {
    peers: {
      peers: config.folding.peers,
      port: config.admin.port,
      keys: { key, ring },
      async send(address, body) {
        const answer = await http.send(`http://${address}/-/peers`, { method: 'POST', headers, body, timeoutMs: 2_000 })
        return { status: answer.status, body: answer.body.toString('utf8') }
      },
    },
  }
}

/** The file of the stages, with a folder for it; undefined where none is wanted or there is no place for it. */
function fileOf({ config, resolve, log }: StateParts): string | undefined {
  const { stateFile } = config.folding
  if (stateFile === null) return undefined
  const path = resolve(stateFile)
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    return path
  } catch (reason) {
    log.warn({ path, reason: (reason as Error).message }, 'no place for the file of the stages: a restart forgets them')
    return undefined
  }
}
