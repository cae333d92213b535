import { beforeAll, describe, expect, it } from 'vitest'
import { createManualClock } from '../../../test/support/clock.ts'
import { createTestHost } from '../../../test/support/host.ts'
import { failOnLeaks } from '../../../test/support/leaks.ts'
import type { Notice } from '../notify/notice.ts'
import { type ApiServer, startApiServer } from './api-server.support.ts'
import { openKube } from './client.ts'
import { cluster } from './cluster.support.ts'
import { eventFromNotice, eventFromUndo } from './event-from-notice.ts'
import { createKubeEvents, type EventSubject, type KubeEvent, type KubeEvents } from './events.ts'
import { eventRules, permissionsFrom, rulesFrom } from './rules.ts'

failOnLeaks()
beforeAll(async () => void (await import('@kubernetes/client-node')), 30_000)

const event: KubeEvent = {
  type: 'Warning',
  reason: 'LayerRolledBack',
  action: 'Rollback',
  note: 'routing was rolled back',
}
const deployment: EventSubject = { kind: 'Deployment', name: 'runner', namespace: 'llm' }

interface Rig {
  readonly api: ApiServer
  readonly events: KubeEvents
  readonly clock: ReturnType<typeof createManualClock>
  readonly log: ReturnType<typeof createTestHost>
}

/** Events against an API server whose Role is just enough. */
async function recording(use: (rig: Rig) => Promise<void>, subject = deployment): Promise<Rig> {
  await using api = await startApiServer(cluster())
  api.rules = eventRules('runner')
  const clock = createManualClock()
  const log = createTestHost()
  const kube = await openKube({ kubeconfigFile: api.kubeconfig })
  const events = createKubeEvents({
    kube,
    subject,
    instance: 'gateway-0',
    clock,
    log: log.log,
    wait: async () => undefined,
  })
  const rig = { api, events, clock, log }
  await use(rig)
  await events.settled()
  expect(api.wrong).toEqual([])
  return rig
}

const recorded = ({ api }: Rig) => [...api.state.events.values()]

describe('a Kubernetes Event', () => {
  it('is one that the API takes, about the Deployment by its uid', async () => {
    const rig = await recording(async ({ events }) => events.record(event))
    expect(recorded(rig)).toMatchObject([
      {
        eventTime: '2023-11-14T22:13:20.000000Z',
        reportingController: 'foldgate.dev/gateway',
        reportingInstance: 'gateway-0',
        ...event,
        regarding: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'runner', namespace: 'llm', uid: 'uid-runner' },
      },
    ])
    expect(recorded(rig)[0]?.series).toBeUndefined()
  })

  it('about a pod needs no reading', async () => {
    const pod: EventSubject = { kind: 'Pod', name: 'gateway-0', namespace: 'llm', uid: 'uid-pod' }
    const rig = await recording(async ({ api, events }) => {
      api.rules = eventRules(null)
      events.record(event)
    }, pod)
    expect(recorded(rig)).toMatchObject([{ regarding: { apiVersion: 'v1', kind: 'Pod', uid: 'uid-pod' } }])
  })

  it('that comes again raises a count; another one is another', async () => {
    const rig = await recording(async ({ events, clock }) => {
      events.record(event)
      await events.settled()
      clock.advance(1_500)
      events.record(event)
      await events.settled()
      events.record({ ...event, note: 'cache was rolled back' })
    })
    expect(recorded(rig).map(({ note, series }) => [note, series])).toEqual([
      ['routing was rolled back', { count: 2, lastObservedTime: '2023-11-14T22:13:21.500000Z' }],
      ['cache was rolled back', undefined],
    ])
  })

  it('that comes again after six minutes is a new one', async () => {
    const rig = await recording(async ({ events, clock }) => {
      events.record(event)
      await events.settled()
      clock.advance(360_000)
      events.record(event)
    })
    expect(recorded(rig)).toHaveLength(2)
  })

  it('that was deleted in between begins anew', async () => {
    const rig = await recording(async ({ api, events }) => {
      events.record(event)
      await events.settled()
      api.state.events.clear()
      events.record(event)
      await events.settled()
      events.record(event)
    })
    expect(recorded(rig)).toHaveLength(1)
  })

  it('that comes ten thousand times is a handful of requests', async () => {
    const rig = await recording(async ({ events }) => {
      for (let each = 0; each < 10_000; each++) events.record(event)
    })
    expect(recorded(rig)[0]?.series?.count).toBe(10_000)
    expect(rig.api.seen.length).toBeLessThan(5)
  })

  it('is dropped and counted where too many wait, and where the Role does not allow it', async () => {
    const flooded = await recording(async ({ events }) => {
      for (let each = 0; each < 200; each++) events.record({ ...event, note: `note ${each}` })
    })
    expect(flooded.events.lost + recorded(flooded).length).toBe(200)
    expect(recorded(flooded).at(-1)?.note).toBe('note 199')
    const denied = await recording(async ({ api, events }) => {
      api.rules = []
      events.record(event)
    })
    expect(denied.events.lost).toBe(1)
    expect(denied.log.lines.at(-1)?.message).toMatch(/not recorded: the API server says 403/)
  })

  it('cuts a note at 1,024 bytes, between characters', async () => {
    const rig = await recording(async ({ events }) => events.record({ ...event, note: 'ü'.repeat(800) }))
    expect(recorded(rig)[0]?.note).toMatch(/^ü+…$/)
  })
})

describe('the rules of Events', () => {
  it.each(permissionsFrom(eventRules('runner')))('are each needed: $verb of $resource', async (left) => {
    const rig = await recording(async ({ api, events }) => {
      const kept = permissionsFrom(eventRules('runner')).filter(({ verb }) => verb !== left.verb)
      api.rules = kept.map(({ group, resource, verb }) => ({
        apiGroups: [group],
        resources: [resource],
        verbs: [verb],
      }))
      events.record(event)
      await events.settled()
      events.record(event)
    })
    const whole = recorded(rig)[0]
    expect(whole?.series?.count === 2 && whole.regarding['uid'] === 'uid-runner').toBe(false)
  })

  it('come together with those of the undo, no rule twice', () => {
    expect(rulesFrom({ rollback: false, events: false, deployment: 'runner' })).toEqual([])
    expect(rulesFrom({ rollback: true, events: true, deployment: 'runner' })).toEqual([
      { apiGroups: ['apps'], resources: ['deployments'], resourceNames: ['runner'], verbs: ['get', 'patch'] },
      { apiGroups: ['apps'], resources: ['replicasets'], verbs: ['list'] },
      { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
    ])
    expect(rulesFrom({ rollback: false, events: true, deployment: null })).toEqual([
      { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
    ])
  })
})

describe('what is said', () => {
  const notice: Notice = {
    ...{ kind: 'rolled-back', at: 0, layer: 'routing', from: 'canary 10 %', to: 'rolled-back', actor: 'controller' },
    ...{ reason: 'fuse F3', evidence: '3 of 3 calls were bad' },
  }
  it('of a notice is its reason code and its words', () => {
    expect(eventFromNotice(notice)).toEqual({
      type: 'Warning',
      reason: 'LayerRolledBack',
      action: 'Rollback',
      note: 'routing was rolled back; routing: canary 10 % → rolled-back. By controller: fuse F3; 3 of 3 calls were bad',
    })
    expect(eventFromNotice({ ...notice, kind: 'moved', to: 'native' })).toMatchObject({
      type: 'Normal',
      reason: 'LayerMoved',
    })
  })

  it('of an undo is whether it happened', () => {
    const done = { done: true, from: 7, to: 6, words: 'w' } as const
    expect(eventFromUndo({ ...done, dryRun: false }).reason).toBe('DeploymentUndone')
    expect(eventFromUndo({ ...done, dryRun: true }).reason).toBe('RollbackSkipped')
    expect(eventFromUndo({ done: false, why: 'paused', words: 'w' })).toMatchObject({
      reason: 'RollbackSkipped',
      note: 'w',
    })
  })
})
