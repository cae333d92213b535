import { graph } from './panel.ts'
import { selectRunner } from './series.ts'

/** What native runners say of themselves. */
export const insideRunners = [
  graph({
    title: 'Calls at the runner',
    description: 'Native runners only, as they say themselves: generating, and waiting for a place.',
    unit: 'short',
    queries: {
      'running {{instance}}': selectRunner('foldgate_runner_running'),
      'queued {{instance}}': selectRunner('foldgate_runner_queued'),
    },
    width: 8,
    runbooks: ['pressure'],
  }),
  graph({
    title: 'Requests at the runner',
    description: 'Native runners only: what they answered, by route and status.',
    unit: 'reqps',
    queries: {
      '{{route}} {{code}}': `sum by (route, code) (rate(${selectRunner('foldgate_runner_requests_total')}[$__rate_interval]))`,
    },
    stacked: true,
    width: 8,
  }),
  graph({
    title: 'Tokens at the runner',
    description:
      'Native runners only: tokens read (prompt), read from the KV cache (cached) and made (completion), also those of copies.',
    unit: 'short',
    queries: {
      '{{instance}} {{kind}}': `sum by (instance, kind) (rate(${selectRunner('foldgate_runner_tokens_total')}[$__rate_interval]))`,
    },
    width: 8,
  }),
  graph({
    title: 'Contexts that were refused',
    description: 'Native runners only, by code; the gateway serves such a call itself.',
    unit: 'ops',
    queries: {
      '{{code}}': `sum by (code) (rate(${selectRunner('foldgate_runner_context_refusals_total')}[$__rate_interval]))`,
    },
    width: 8,
    runbooks: ['context-refused'],
  }),
  graph({
    title: 'Acknowledgements',
    description: 'Native runners only: in the head of an answer, and at the end of a stream.',
    unit: 'ops',
    queries: {
      '{{part}}': `sum by (part) (rate(${selectRunner('foldgate_runner_acknowledgements_total')}[$__rate_interval]))`,
    },
    width: 8,
    runbooks: ['acknowledgement-missing'],
  }),
  graph({
    title: 'Steps of policies',
    description: 'Native runners only: what compiling the steps came to.',
    unit: 'ops',
    queries: {
      '{{result}}': `sum by (result) (rate(${selectRunner('foldgate_runner_policy_steps_total')}[$__rate_interval]))`,
    },
    width: 8,
    runbooks: ['policy-refused'],
  }),
]
