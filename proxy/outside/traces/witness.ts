import type { TraceStoreConfig } from '../../../config/outside.ts'
import { GatewayError } from '../../../plugins/errors.ts'
import type { Http } from '../../../plugins/host.ts'
import type { AskStore, StoreLine } from './asking.ts'
import { compareWitness, type WitnessVerdict } from './compare.ts'
import { askJaeger, askJaegerV3 } from './jaeger.ts'
import type { ArmCounts, WitnessCounts, WitnessQuestion } from './question.ts'
import { askTempo } from './tempo.ts'

/** A trace store that can be asked. */
export interface Witness {
  /** Counts what the store holds. Throws `runner_unreachable`, `runner_timeout` and `runner_protocol`. */
  ask(question: WitnessQuestion): Promise<WitnessCounts>
  /** Asks and compares. Never throws: a store that does not answer has seen too few. */
  compare(question: WitnessQuestion, inProcess: ArmCounts): Promise<WitnessVerdict>
}

/** What a witness is made of. */
export interface WitnessParts {
  readonly http: Http
  /** A secret from a file that the configuration names; read for every question. Throws `config_invalid`. */
  secret(path: string): Buffer
}

const apis: Readonly<Record<TraceStoreConfig['kind'], AskStore>> = {
  jaeger: askJaeger,
  'jaeger-v3': askJaegerV3,
  tempo: askTempo,
}

/** Makes a {@link Witness}; undefined where no store is configured. */
export function createWitness(config: TraceStoreConfig, parts: WitnessParts): Witness | undefined {
  if (config.url === null) return undefined
  const url = config.url.replace(/\/+$/, '')
  const ask: Witness['ask'] = async (question) => apis[config.kind](question, lineFrom(url, config, parts))
  return {
    ask,
    async compare(question, inProcess) {
      try {
        const { arm } = question
        return compareWitness(inProcess, await ask(question), { ...config, ...(arm === undefined ? {} : { arm }) })
      } catch (reason) {
        if (!(reason instanceof GatewayError)) throw reason
        return { verdict: 'too-few', words: `the trace store could not be asked: ${reason.message}` }
      }
    },
  }
}

function lineFrom(url: string, config: TraceStoreConfig, { http, secret }: WitnessParts): StoreLine {
  const { tokenFile, tenant, timeoutMs, maxTraces } = config
  const headers = {
    ...(tokenFile === null ? {} : { authorization: `Bearer ${secret(tokenFile).toString('utf8').trim()}` }),
    ...(tenant === null ? {} : { 'x-scope-orgid': tenant }),
  }
  return { http, url, headers, timeoutMs, maxTraces }
}
