import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { startTestGateway } from '../test/support/gateway.ts'
import { createConsumers } from './consumers.ts'
import { openai } from './dialect.ts'
import { createFlights } from './flights.ts'
import { createPressureGauge } from './pressure.ts'
import type { Rooms } from './rooms.ts'
import { createMetrics } from './telemetry/metrics.ts'
import { createTracing } from './telemetry/tracing.ts'
import { beginVisit, finish, frameOf } from './visit.ts'

const kind = { route: 'chat', dialect: openai, path: '/v1/chat/completions' } as const

it('an answer that leaves without the layer status is counted, and one with it is not', async () => {
  await using gateway = await startTestGateway({ runners: ['http://127.0.0.1:9'] })
  const metrics = createMetrics({ version: '1', commit: 'c', layers: [] })
  const pressure = createPressureGauge()
  const tracing = await createTracing(gateway.setup().config.telemetry, { version: '1', onDropped: () => undefined })
  const rooms = {
    setup: gateway.setup,
    metrics,
    tracing,
    log: gateway.log,
    draining: () => false,
    flights: createFlights(),
    consumers: createConsumers(),
    pressure,
    noteFeedback: async () => false,
    remember: () => undefined,
  } as unknown as Rooms
  const server = createServer((request, response) => {
    const visit = beginVisit(rooms, kind, { request, response })
    response.writeHead(200, request.url === '/told' ? frameOf(rooms, visit).headers({ status: 200, headers: {} }) : {})
    response.end()
    finish(rooms, visit, undefined)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const missed = async () => /^foldgate_missing_header_total\{.*$/m.exec((await metrics.text()).body)?.[0]
  await fetch(`${url}/told`)
  expect(await missed()).toBeUndefined()
  await fetch(`${url}/forgotten`)
  expect(await missed()).toBe('foldgate_missing_header_total{header="layer-status",where="client-out"} 1')
  server.closeAllConnections()
  await new Promise((done) => server.close(done))
  pressure.close()
  await tracing.close()
})
