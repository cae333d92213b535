import { GatewayError } from '../../plugins/errors.ts'
import type { ConfigView, StatusView } from '../admin/operations.ts'
import type { AdminClient } from './admin-client.ts'
import { clockFindings, type Examined } from './examine.ts'
import { examineConsumers } from './examine-consumers.ts'
import { processFindings } from './examine-processes.ts'
import { broken, doubtful, type Finding, fine } from './finding.ts'

/** What an admin port says about its gateway, and the configuration it shows, if it lets us see it. */
export interface AdminExamination {
  readonly findings: readonly Finding[]
  readonly shown: Examined['config'] | undefined
}

/** Asks one admin port: is it there, is the gateway ready, what does it complain of. */
export async function examineAdmin(admin: AdminClient): Promise<AdminExamination> {
  const check = `gateway ${admin.url}`
  try {
    const probe = await admin.ask('/healthz/ready?verbose')
    const failed = probe.text.split('\n').filter((line) => line.startsWith('[-]'))
    const ready =
      failed.length > 0 || probe.status !== 200
        ? broken(
            check,
            `is not ready: ${failed.map((line) => line.slice(3)).join('; ') || `status ${probe.status}`}`,
            'foldgate status says more',
          )
        : fine(check, 'is ready')
    const findings = [ready, ...clockFindings(check, probe)]
    return await withStatus(admin, findings)
  } catch (reason) {
    if (!(reason instanceof GatewayError)) throw reason
    const next = 'start the gateway, or name its admin port with --admin and a token with --token-file'
    return { findings: [broken(check, reason.message, next)], shown: undefined }
  }
}

async function withStatus(admin: AdminClient, findings: readonly Finding[]): Promise<AdminExamination> {
  const check = `gateway ${admin.url}`
  const status = await admin.get<StatusView>('/-/status')
  const { problems, lastReload } = status
  const { config } = await admin.get<ConfigView>('/-/config')
  const complaints = problems.map((problem) => broken(check, problem, 'foldgate status says more'))
  const refused = lastReload.ok
    ? []
    : [
        doubtful(
          check,
          `refused its last reload: ${lastReload.faults.length} faults`,
          'correct the file; foldgate check names every fault',
        ),
      ]
  const old = await examineConsumers(admin)
  const all = [...findings, ...complaints, ...refused, ...processFindings(status), ...old]
  return { findings: all, shown: config as Examined['config'] }
}
